import {
  applyDecorators,
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Injectable,
  Post,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import type { Request, Response } from 'express';
import { Operation, Public, Tag } from 'petstore/platform';
import { callerOf, Declare } from '../platform/api/index.js';
import { AuthLimiter } from '../platform/safeguards/index.js';
import { AccountDto, ACCOUNTS_TAG, NewAccountDto } from './account.dto.js';
import { AccountsService } from './accounts.service.js';
import { Invitations } from './invitations.js';
import { limitSubjects, requesterOf } from './limit-subjects.js';

/** Checks the invitation before the rest of the body. */
@Injectable()
class InvitationGuard implements CanActivate {
  constructor(private readonly invitations: Invitations) {}

  async canActivate(context: ExecutionContext): Promise<true> {
    const { body } = context.switchToHttp().getRequest<Request>();
    await this.invitations.require((body as { invitation?: unknown } | null)?.invitation);
    return true;
  }
}

/** Marks the operation for signing up, which `SIGN_UP` can restrict. */
function SignUp(): MethodDecorator {
  return applyDecorators(Declare({ signUp: true }), UseGuards(InvitationGuard));
}

@Tag(...ACCOUNTS_TAG)
@Controller('accounts')
export class AccountsController {
  constructor(
    private readonly accounts: AccountsService,
    private readonly limiter: AuthLimiter,
  ) {}

  @Post()
  @Public()
  @SignUp()
  @Operation({
    id: 'createAccount',
    summary: 'Create an account',
    description: 'The first step: with its email and password you then create API keys.',
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
    return this.accounts.create(body, callerOf(request), requesterOf(request));
  }
}
