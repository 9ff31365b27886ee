import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { OperationFacts } from './operation.js';
import { clientNetwork, requestIdOf } from './request.js';

/** A request to a controller: the guard gives it its operation before it checks anything. */
export interface RoutedRequest extends Request {
  operation: OperationFacts;
  /** Whether its body was waited for, so that what it was let in for may be true no more. */
  hasWaited?: boolean;
  /** What is sent instead of what the controller and its interceptors have come to, if anything is to be. */
  settle?: (body: unknown) => Promise<unknown>;
}

/** A request past the guard, with its account. */
export interface AuthenticatedRequest extends RoutedRequest {
  accountId: string;
  /** Of the API key, if it came with one. */
  keyId?: string;
  /** What its key may do; undefined stands for everything. */
  permissions?: ReadonlySet<string>;
}

/** Gives a controller method the id of the calling account. */
export const AccountId = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().accountId,
);

/** Who makes a change, as the audit log has it. */
export interface Caller {
  accountId: string;
  /** Of the API key; none if it was made by email and password, or by an operator. */
  keyId?: string;
  requestId?: string;
  /** Where it comes from, as `clientNetwork` says. */
  address?: string;
  isOperator?: boolean;
  /** The name of a job or a schedule, which does it without a request: `by` of its `Job` has it. */
  job?: string;
}

/** Whoever changes something that is of no account, or not yet. */
export type Anyone = Omit<Caller, 'accountId'> & Partial<Pick<Caller, 'accountId'>>;

/** The caller of a request; one that makes its account has none yet. */
export function callerOf(request: Request & { accountId?: string; keyId?: string }): Caller {
  const { accountId = '', keyId } = request;
  return { accountId, keyId, requestId: requestIdOf(request.res!), address: clientNetwork(request) };
}

/** Gives a controller method the caller of a request, for what is written to the audit log. */
export const By = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  callerOf(context.switchToHttp().getRequest<AuthenticatedRequest>()),
);
