import { Body, Controller, Delete, Get, Patch, Req } from '@nestjs/common';
import type { Request } from 'express';
import { AccountId, By, type Caller } from '../platform/api/caller.js';
import { Operation, PasswordAccess, Tag } from '../platform/api/operation.js';
import { AccountChangeDto, ACCOUNTS_TAG, CurrentAccountDto } from './account.dto.js';
import { AccountChanges } from './account-changes.js';
import { AccountsService } from './accounts.service.js';
import { withPermissions } from './granted.js';
import { requesterOf } from './limit-subjects.js';

@Tag(...ACCOUNTS_TAG)
@PasswordAccess()
@Controller('accounts/current')
export class CurrentAccountController {
  constructor(
    private readonly accounts: AccountsService,
    private readonly changes: AccountChanges,
  ) {}

  @Get()
  @Operation({
    id: 'getCurrentAccount',
    summary: 'Fetch your account',
    description: 'With the permissions that its API keys can have.',
    returns: CurrentAccountDto,
  })
  async get(@AccountId() accountId: string): Promise<CurrentAccountDto> {
    return withPermissions(await this.accounts.get(accountId));
  }

  @Patch()
  @Operation({
    id: 'updateCurrentAccount',
    summary: 'Change your email or password',
    description: 'The API keys stay valid, unless they are to be revoked too.',
    returns: CurrentAccountDto,
    errors: { account_exists: 409 },
  })
  async update(
    @By() by: Caller,
    @Body() body: AccountChangeDto,
    @Req() request: Request,
  ): Promise<CurrentAccountDto> {
    return withPermissions(await this.changes.change(by, body, requesterOf(request)));
  }

  @Delete()
  @Operation({
    id: 'closeCurrentAccount',
    summary: 'Close your account',
    description:
      'For good. Its email and password are erased, its messages deleted whether delivered or not, its open orders cancelled, and its API keys refused everywhere within a second.',
    status: 204,
  })
  close(@By() by: Caller): Promise<void> {
    return this.changes.close(by);
  }
}
