import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  UseGuards,
} from '@nestjs/common';
import type { Request } from 'express';
import { Declare } from '../platform/api/index.js';
import { Invitations } from './invitations.js';

/** Looks for the invitation before anything else in the body. */
@Injectable()
class InvitationGuard implements CanActivate {
  constructor(private readonly invitations: Invitations) {}

  async canActivate(context: ExecutionContext): Promise<true> {
    const { body } = context.switchToHttp().getRequest<Request>();
    await this.invitations.require((body as { invitation?: unknown } | null)?.invitation);
    return true;
  }
}

/** Marks the operation by which accounts sign up: `SIGN_UP` says whose. */
export function SignUp(): MethodDecorator {
  return applyDecorators(Declare({ signUp: true }), UseGuards(InvitationGuard));
}
