import { Body, Controller, Delete, Get, Patch, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AccountId, By, type Caller, Operation } from 'petstore/platform';
import { AuthLimiter } from '../platform/safeguards/index.js';
import { PasswordAccess } from '../platform/api/index.js';
import { AccountChanges } from './account-changes.js';
import { AccountChangeDto, CurrentAccountDto } from './account.dto.js';
import { AccountsService } from './accounts.service.js';
import { normalEmail } from './account.entity.js';
import { withPermissions } from './granted.js';
import { limitSubjects } from './auth.guard.js';

@ApiTags('accounts')
@PasswordAccess()
@Controller('accounts/current')
export class CurrentAccountController {
  constructor(
    private readonly accounts: AccountsService,
    private readonly changes: AccountChanges,
    private readonly limiter: AuthLimiter,
  ) {}

  @Get()
  @Operation({
    id: 'getCurrentAccount',
    summary: 'Fetch your account',
    description: 'Includes the permissions that the API keys of the account can have.',
    returns: CurrentAccountDto,
  })
  async get(@AccountId() accountId: string): Promise<CurrentAccountDto> {
    return withPermissions(await this.accounts.get(accountId));
  }

  @Patch()
  @Operation({
    id: 'updateCurrentAccount',
    summary: 'Change your email or password',
    description: 'The API keys stay valid, unless `revokeKeys` is true.',
    returns: CurrentAccountDto,
    errors: { account_exists: 409, managed_by_identity_provider: 409 },
  })
  async update(
    @By() by: Caller,
    @Body() body: AccountChangeDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<CurrentAccountDto> {
    const { accountId } = by;
    const { email } = body;
    const isNew = async () => normalEmail(email!) !== normalEmail((await this.accounts.get(accountId)).email);
    if (email !== undefined && (await isNew())) {
      // Counts as a sign-up: the answer discloses as much about existing accounts.
      const [address, ...account] = limitSubjects('sign-up', request, email);
      await this.limiter.consume([address, `sign-up by ${accountId}`, ...account], response);
    }
    return withPermissions(await this.changes.change(by, body));
  }

  @Delete()
  @Operation({
    id: 'closeCurrentAccount',
    summary: 'Close your account',
    description:
      'The account cannot be reopened. Its email and password are erased, its messages deleted (delivered or not), its open orders cancelled, and its API keys refused everywhere within a second.',
    status: 204,
  })
  close(@By() by: Caller): Promise<void> {
    return this.changes.close(by);
  }
}
