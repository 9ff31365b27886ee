import { applyDecorators, HttpCode, SetMetadata, type Type } from '@nestjs/common';
import { ApiExtension, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { ErrorCode } from './api-error.js';
import { listSerializer, type Serializer, serializer } from './serializer.js';
import { wrapMethod } from './wrap-method.js';

/** Extensions that carry facts from the decorators to the OpenAPI builder, which removes them. */
export const MARKS = {
  access: 'x-mark-access',
  errors: 'x-mark-errors',
  idempotent: 'x-mark-idempotent',
  located: 'x-mark-located',
  tag: 'x-mark-tag',
} as const;

interface OperationOptions {
  /** The operationId, which client generators use as the method name. */
  id: string;
  summary: string;
  description?: string;
  /** Class of the answer; in brackets for a page of them. */
  returns?: Type | [Type];
  /** Success status; 200 when left out. */
  status?: number;
  /** Whether the answer has a `Location`. */
  located?: boolean;
  /** The errors of this operation besides those that every operation has, with their statuses. */
  errors?: Partial<Record<ErrorCode, number>>;
}

/** Metadata key of a method's operationId. */
export const OPERATION_ID = 'operationId';

/** Names and documents an operation, and sets its success status. Every route has one. */
export function Operation(options: OperationOptions): MethodDecorator {
  const { id, summary, description, returns, status = 200, located = false, errors = {} } = options;
  const [type, isArray] = Array.isArray(returns) ? [returns[0], true] : [returns, false];
  return applyDecorators(
    HttpCode(status),
    SetMetadata(OPERATION_ID, id),
    ApiOperation({ operationId: id, summary, description }),
    ApiResponse({ status, type, isArray }),
    ApiExtension(MARKS.errors, errors),
    ApiExtension(MARKS.located, located),
    ...(type ? [Answers(isArray ? listSerializer(type) : serializer(type))] : []),
  );
}

/** Serializes what a method returns. */
function Answers<Item>(serialize: Serializer<Item>): MethodDecorator {
  return (_target, _name, descriptor: PropertyDescriptor) => {
    wrapMethod(descriptor, (call) => async (args) => serialize((await call(args)) as Item));
  };
}

/** Puts the operations of a controller under one heading, with a line on what they are for. */
export function Tag(name: string, description: string): ClassDecorator {
  return applyDecorators(ApiTags(name), ApiExtension(MARKS.tag, { name, description }));
}

/** Marks an operation that may still change: `beta` in details, `experimental` altogether. Unmarked ones are stable. */
export function Stability(stability: 'beta' | 'experimental') {
  return ApiExtension('x-stability', stability);
}

export type Access = 'public' | 'basic' | 'bearer';

/** Metadata key under which the guard finds the access of an operation. */
export const ACCESS = 'access';

function access(kind: Access) {
  return applyDecorators(SetMetadata(ACCESS, kind), ApiExtension(MARKS.access, kind));
}

/** Opens an operation, or a whole controller, to requests without credentials. Everything else is closed. */
export const Public = () => access('public');

/** Opens an operation to an account's email and password (HTTP Basic) instead of an API key. */
export const PasswordAccess = () => access('basic');
