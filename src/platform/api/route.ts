import { applyDecorators, Header, HttpCode, type Type } from '@nestjs/common';
import { ApiBody, ApiExtension, ApiExtraModels, ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiError } from './api-error.js';
import { EVENTS_TYPE, type Gives, isRaw, JSON_TYPE } from './bodies.js';
import { MakesDeferred } from './deferred.js';
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
import type { Needs } from './permissions.js';

interface OperationOptions extends Partial<
  Pick<OperationFacts, 'bodyOptional' | 'errors' | 'seconds' | 'sorted' | 'takes'>
> {
  /** The operationId, which client generators use as the method name. */
  id: string;
  summary: string;
  description?: string;
  /** The permission that a key needs: `'pets:write'`, a list of which one suffices, `needsBy(…)`, or `'nothing'`. */
  needs?: Needs;
  /** DTO class of the answer; `[Class]` for a page of items, by ascending id unless `sorted` or a parameter changes that. */
  returns?: Type | [Type];
  /** Success status; 200 by default. */
  status?: number;
  /** Whether the success has a `Location`: the address of the request, plus the item's `id` except for a PUT. */
  located?: boolean;
  /** Default media types of the successes that have a body; JSON if left out. */
  gives?: Gives;
  /**
   * Several successes. An answer has the status of the first one unless the method sets another. If 304 is listed, JSON
   * answers carry an `ETag`, and `If-None-Match` works.
   */
  successes?: readonly [Success, ...Success[]];
}

/**
 * Names and documents an operation, and sets its success status. Belongs on every route. When the answer is sent, the
 * DTO class `returns` serializes the method's value.
 */
export function Operation(options: OperationOptions): MethodDecorator {
  const { id, summary, description, returns, status = 200, located, gives, errors = {}, ...facts } = options;
  const [type, isArray] = Array.isArray(returns) ? [returns[0], true] : [returns, false];
  const serialize = type && (isArray ? listSerializer(type) : serializer(type));
  const successes = (facts.successes ?? [{ status, located }]).map((success) =>
    gives && hasBody(success.status) ? { gives, ...success } : success,
  );
  return applyDecorators(
    MakesDeferred(),
    HttpCode(successes[0]!.status),
    ApiOperation({ operationId: id, summary, description }),
    ...successes.map((success) =>
      ApiResponse(isJson(success) ? { status: success.status, type, isArray } : { status: success.status }),
    ),
    ...typeHeaders(successes),
    // Raw bytes have no DTO class.
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

function isJson({ status, gives }: Success): boolean {
  return hasBody(status) && (!gives || gives.types.includes(JSON_TYPE));
}

/** Sets the `Content-Type` of an operation that always answers with one type. */
function typeHeaders(successes: readonly Success[]): MethodDecorator[] {
  const bodies = successes.filter(({ status }) => hasBody(status));
  const types = new Set(bodies.flatMap(({ gives }) => gives?.types ?? [JSON_TYPE]));
  const [type = JSON_TYPE] = types;
  if (types.size > 1 || type === JSON_TYPE || type === EVENTS_TYPE || type.endsWith('*')) return [];
  return [Header('Content-Type', type.startsWith('text/') ? `${type}; charset=utf-8` : type)];
}

/** Marks an operation that may still change: `beta` in details, `experimental` altogether. Unmarked operations are stable. */
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

/** Opens an operation to API keys, as by default, even if its controller declares another access. */
export const KeyAccess = () => Declare({ access: 'bearer' });

interface SunsetOptions {
  /** First day of the deprecation, as YYYY-MM-DD (UTC). */
  deprecated: string;
  /** Day from which the operation answers 410, as YYYY-MM-DD (UTC). */
  sunset: string;
  /** Path of the operation to use instead. */
  successor: string;
}

/**
 * Deprecates an operation, and removes it on the day of the sunset. Until then, answers carry the headers `Deprecation` (RFC
 * 9745), `Sunset` (RFC 8594) and `Link` to the successor; from then on, the operation answers 410 `operation_removed`.
 */
export function Sunset({ deprecated, sunset, successor }: SunsetOptions): MethodDecorator {
  const end = Date.parse(sunset);
  const headers = {
    Deprecation: `@${Date.parse(deprecated) / 1000}`,
    Sunset: new Date(end).toUTCString(),
    Link: `<${successor}>; rel="successor-version"`,
  };
  return Declare({ sunset: { day: sunset, end, deprecated, successor, headers } });
}

/**
 * Sets the headers of a deprecated operation.
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
