import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { OperationFacts } from './operation-facts.js';

/** A request to a controller: the guard gives it its operation before it checks anything. */
export interface RoutedRequest extends Request {
  operation: OperationFacts;
}

/** A request past the guard, with its account. */
export interface AuthenticatedRequest extends RoutedRequest {
  accountId: string;
  /** Of the API key, if it came with one. */
  keyId?: string;
}

/** Gives a controller method the id of the calling account. */
export const AccountId = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().accountId,
);

/** Gives a controller method the id of the API key that the request came with. */
export const KeyId = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().keyId,
);
