import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

/** A request past the guard, with its account. */
export interface AuthenticatedRequest extends Request {
  accountId: string;
}

/** Gives a controller method the id of the calling account. */
export const AccountId = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().accountId,
);
