import { Body, Controller, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Operation, Public } from 'petstore/platform';
import { callerOf, Declare } from '../platform/api/index.js';
import { AuthLimiter } from '../platform/safeguards/index.js';
import { AccountDto, NewAccountDto } from './account.dto.js';
import { AccountsService } from './accounts.service.js';
import { limitSubjects } from './auth.guard.js';

@ApiTags('accounts')
@Controller('accounts')
export class AccountsController {
  constructor(
    private readonly accounts: AccountsService,
    private readonly limiter: AuthLimiter,
  ) {}

  @Post()
  @Public()
  @Declare({ signUp: true })
  @Operation({
    id: 'createAccount',
    summary: 'Create an account',
    description: "The first step: you then create API keys with the account's email and password.",
    returns: AccountDto,
    status: 201,
    errors: { sign_up_closed: 403, account_exists: 409 },
  })
  async create(
    @Body() body: NewAccountDto,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AccountDto> {
    await this.limiter.consume(limitSubjects('sign-up', request, body.email), response);
    return this.accounts.create(body, callerOf(request));
  }
}
