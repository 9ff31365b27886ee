import { applyDecorators, HttpCode, type Type } from '@nestjs/common';
import { ApiExtension, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { ErrorCode } from './error-codes.js';
import { type Access, Declare } from './operation-facts.js';
import { listSerializer, type Serializer, serializer } from './serializer.js';

interface OperationOptions {
  /** The operationId, which client generators use as the method name. */
  id: string;
  summary: string;
  description?: string;
  /** Class of the answer; in brackets for a page of them. */
  returns?: Type | [Type];
  /** The order of that page, for the document: `the newest first`. Ascending ids when left out, or what parameters say. */
  sorted?: string;
  /** Success status; 200 when left out. */
  status?: number;
  /** Whether the answer has a `Location`. */
  located?: boolean;
  /** Whether a request without a body stands for one with an empty object. */
  bodyOptional?: boolean;
  /** The errors of this operation besides those that every operation has, with their statuses. */
  errors?: Partial<Record<ErrorCode, number>>;
}

/**
 * Names and documents an operation, and sets its success status. Every route has one. The method itself stays as it is:
 * what it returns is written as `returns` says when it is sent.
 */
export function Operation(options: OperationOptions): MethodDecorator {
  const { id, summary, description, returns, status = 200, sorted } = options;
  const { located = false, bodyOptional = false, errors = {} } = options;
  const [type, isArray] = Array.isArray(returns) ? [returns[0], true] : [returns, false];
  const serialize = type && (isArray ? listSerializer(type) : serializer(type));
  return applyDecorators(
    HttpCode(status),
    ApiOperation({ operationId: id, summary, description }),
    ApiResponse({ status, type, isArray }),
    Declare({
      id,
      errors,
      located,
      bodyOptional,
      sorted,
      returns: isArray ? undefined : type,
      serialize: serialize as Serializer<object> | undefined,
    }),
  );
}

/**
 * Puts the operations of a controller under one heading, with a line on what they are for. A key needs the permission
 * `<name>:read` for those that read, `<name>:write` for all others, unless they say otherwise.
 * @param subject what their permissions begin with instead of the name
 */
export function Tag(name: string, description: string, subject = name): ClassDecorator {
  return applyDecorators(ApiTags(name), Declare({ tag: { name, description }, subject }));
}

/** Marks an operation that may still change: `beta` in details, `experimental` altogether. Unmarked ones are stable. */
export function Stability(stability: 'beta' | 'experimental') {
  return applyDecorators(ApiExtension('x-stability', stability), Declare({ stability }));
}

const access = (kind: Access) => Declare({ access: kind });

/** Opens an operation, or a whole controller, to requests without credentials. Everything else is closed. */
export const Public = () => access('public');

/** Opens an operation to an account's email and password (HTTP Basic) instead of an API key. */
export const PasswordAccess = () => access('basic');

/** Opens an operation to an API key, as every unmarked one is, in a controller that is opened otherwise. */
export const KeyAccess = () => access('bearer');
