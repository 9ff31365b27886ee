import { applyDecorators, Header, HttpCode, type Type } from '@nestjs/common';
import { ApiBody, ApiExtension, ApiExtraModels, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiError } from './api-error.js';
import { EVENTS_TYPE, type Gives, isRaw, JSON_TYPE } from './bodies.js';
import { type Serializer, serializer } from './dto.js';
import {
  Declare,
  hasBody,
  type OperationFacts,
  type Success,
  type Sunsetting,
  type Webhook,
} from './operation.js';
import { listSerializer } from './paging.js';
import type { Permission } from './permissions.js';

interface OperationOptions extends Partial<
  Pick<OperationFacts, 'bodyOptional' | 'errors' | 'seconds' | 'sorted' | 'takes'>
> {
  /** The operationId, which client generators use as the method name. */
  id: string;
  summary: string;
  description?: string;
  /** Class of the answer; in brackets for a page of them, in ascending order of ids unless `sorted` or parameters say other. */
  returns?: Type | [Type];
  /** Success status; 200 when left out. */
  status?: number;
  /** Whether that success has a `Location`. */
  located?: boolean;
  /** What its answers are, where that is not JSON alone: of all successes that have a body and say nothing else. */
  gives?: Gives;
  /**
   * The successes, where there are several: an answer has the status of the first unless the method gives it another. With
   * 304 among them, answers have an `ETag`, and whoever has the same is told so; with 206, `reply.file` gives parts.
   */
  successes?: readonly [Success, ...Success[]];
}

/**
 * Names and documents an operation, and sets its success status. Every route has one. The method itself stays as it is:
 * what it returns is written as `returns` says when it is sent.
 */
export function Operation(options: OperationOptions): MethodDecorator {
  const { summary, description, returns, status = 200, located, gives, errors = {}, ...facts } = options;
  const [type, isArray] = Array.isArray(returns) ? [returns[0], true] : [returns, false];
  const serialize = type && (isArray ? listSerializer(type) : serializer(type));
  const successes = (facts.successes ?? [{ status, located }]).map((one) =>
    gives && hasBody(one.status) ? { gives, ...one } : one,
  );
  return applyDecorators(
    HttpCode(successes[0]!.status),
    ApiOperation({ operationId: facts.id, summary, description }),
    ...successes.map((one) =>
      ApiResponse(isJson(one) ? { status: one.status, type, isArray } : { status: one.status }),
    ),
    ...typeHeaders(successes),
    // Nobody's class describes bytes.
    facts.takes?.types.every(isRaw) ? ApiBody({ schema: { type: 'string', format: 'binary' } }) : () => {},
    Declare({
      ...facts,
      errors,
      successes,
      returns: type,
      isList: isArray,
      serialize: serialize as Serializer<object> | undefined,
    }),
  );
}

/** Whether a success may be the class of the operation as JSON. */
function isJson({ status, gives }: Success): boolean {
  return hasBody(status) && (!gives || gives.types.includes(JSON_TYPE));
}

/** What is always of one type says so, whether it is a text, a file or a generator. */
function typeHeaders(successes: readonly Success[]): MethodDecorator[] {
  const bodies = successes.filter(({ status }) => hasBody(status));
  const types = new Set(bodies.flatMap(({ gives }) => gives?.types ?? [JSON_TYPE]));
  const [type = JSON_TYPE] = types;
  if (types.size > 1 || type === JSON_TYPE || type === EVENTS_TYPE || type.endsWith('*')) return [];
  return [Header('Content-Type', type.startsWith('text/') ? `${type}; charset=utf-8` : type)];
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
  return ApiExtension('x-stability', stability);
}

/** Documents a request that the service makes because of this operation, under `webhooks` of the OpenAPI document. */
export function Sends(webhook: Webhook): MethodDecorator {
  return applyDecorators(ApiExtraModels(webhook.body), Declare({ webhook }));
}

/** Opens an operation, or a whole controller, to requests without credentials. Everything else is closed. */
export const Public = () => Declare({ access: 'public' });

/** Opens an operation to an account's email and password (HTTP Basic) instead of an API key. */
export const PasswordAccess = () => Declare({ access: 'basic' });

/** Opens an operation to an API key, as every unmarked one is, in a controller that is opened otherwise. */
export const KeyAccess = () => Declare({ access: 'bearer' });

/** Has an operation need other permissions than that of its tag: one of these is enough. With none, any key will do. */
export function Needs(...permissions: Permission[]): MethodDecorator {
  return Declare({ permissions });
}

/**
 * Has an operation need the permission of what its body asks for: a key with none of them is refused before its body is
 * read; one with some before the body counts, as long as this value of it is one of these.
 * @param field a property of the body, and the permission that each of its values needs
 */
export function NeedsBy(field: string, permissions: Readonly<Record<string, Permission>>): MethodDecorator {
  const any = [...new Set(Object.values(permissions))];
  return Declare({ permissions: any, needsBy: { field, permissions } });
}

interface SunsetOptions {
  /** Day since which the operation is deprecated, as YYYY-MM-DD (UTC). */
  deprecated: string;
  /** Day from which it is gone, as YYYY-MM-DD (UTC). */
  sunset: string;
  /** Path of the operation to use instead. */
  successor: string;
}

/**
 * Deprecates an operation and ends it automatically. Until the sunset, its answers carry the headers `Deprecation` (RFC
 * 9745), `Sunset` (RFC 8594) and `Link` to the successor; from then on it answers 410 `operation_removed`.
 */
export function Sunset({ deprecated, sunset, successor }: SunsetOptions): MethodDecorator {
  const end = Date.parse(sunset);
  const headers = {
    Deprecation: `@${Date.parse(deprecated) / 1000}`,
    Sunset: new Date(end).toUTCString(),
    Link: `<${successor}>; rel="successor-version"`,
  };
  return Declare({ sunset: { day: sunset, end, successor, headers } });
}

/**
 * Gives the answer of a deprecated operation its headers.
 * @param now milliseconds since 1970
 * @throws ApiError `operation_removed` from the sunset on
 */
export function applySunset(
  { day, end, successor, headers }: Sunsetting,
  now: number,
  response: Response,
): void {
  response.set(headers);
  if (now >= end)
    throw new ApiError('operation_removed', `The operation was removed on ${day}. Use ${successor} instead.`);
}
