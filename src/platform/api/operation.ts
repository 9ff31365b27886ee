import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Header,
  HttpCode,
  Injectable,
  mixin,
  RequestMethod,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { ApiBody, ApiExtension, ApiExtraModels, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Clock } from '../process/index.js';
import { ApiError, type ErrorCode } from './api-error.js';
import {
  EVENTS_TYPE,
  type Gives,
  isRaw,
  JSON_TYPE,
  requireGives,
  requireTakes,
  type Takes,
} from './bodies.js';
import { listSerializer, type Serializer, serializer } from './dto.js';
import type { Permission } from './permissions.js';

/** How an operation is opened: to anyone, to an email and password, or to an API key. */
export type Access = 'public' | 'basic' | 'bearer';

/** The id of what no `@Operation` names: it is not in the OpenAPI document. */
export const NO_ID = 'none';

/** A heading of the OpenAPI document, with a line on what is under it. */
export interface TagFacts {
  readonly name: string;
  readonly description: string;
}

/** A request that the service makes: what it tells the receiver, and what it understands of the answer. */
export interface Webhook {
  /** The operationId. */
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  /** Class of the JSON body. */
  readonly body: Type;
  /** What each of its headers says. */
  readonly headers: Readonly<Record<string, string>>;
  /** What each status of an answer (`2XX` for a class of them, or `default`) leads to. */
  readonly answers: Readonly<Record<string, string>>;
}

/** A success of an operation. */
export interface Success {
  readonly status: number;
  /** Whether it has a `Location`. */
  readonly located?: boolean;
  /** What it means, where that is more than what its status says. */
  readonly means?: string;
  /** What its body is, where that is not what all successes of the operation give; JSON where none does. */
  readonly gives?: Gives;
}

/** Whether an answer with a status may have a body (RFC 9110, 15). */
export const hasBody = (status: number): boolean => status < 300 && status !== 204 && status !== 205;

/** Whether an operation has a success with a status, such as 304. */
export function hasSuccess({ successes }: Pick<OperationFacts, 'successes'>, status: number): boolean {
  return successes.some((one) => one.status === status);
}

/** What the decorators of a method and of its controller say of an operation. */
export interface OperationFacts {
  /** The operationId, which client generators use as the method name. */
  readonly id: string;
  readonly access: Access;
  /** The permissions of which a key needs one; none where any key will do, or it is not opened by keys. */
  readonly permissions: readonly string[];
  /** Day from which a deprecated operation is gone, as YYYY-MM-DD (UTC). */
  readonly sunset?: string;
  /** Whether it accepts an `Idempotency-Key`. */
  readonly idempotent: boolean;
  /** Whether a request without a body stands for one with an empty object. */
  readonly bodyOptional: boolean;
  /** Whether accounts are made by it. */
  readonly signUp: boolean;
  /** What it takes as its body; a small object as JSON when left out. */
  readonly takes?: Takes;
  /** Its successes. */
  readonly successes: readonly Success[];
  /** Seconds that it has until the first byte of its answer; 2.9 when left out. */
  readonly seconds?: number;
  /** The order of its list, where no parameter says it and it is not that of ids: `the newest first`. */
  readonly sorted?: string;
  /** What its controller gives tags, and how that is written. */
  readonly entity?: { readonly type: Type; readonly serialize: Serializer<object> };
  /** Whether it accepts `If-Match`. */
  readonly conditional: boolean;
  /** The class of its answer, if that is one item. */
  readonly returns?: Type;
  /** The errors that it has besides those of every operation, with their statuses. */
  readonly errors: Readonly<Partial<Record<ErrorCode, number>>>;
  /** Its heading in the OpenAPI document. */
  readonly tag: TagFacts;
  /** The request that the service makes because of it. */
  readonly webhook?: Webhook;
  /** What its permissions begin with, if not with the name of its tag. */
  readonly subject?: string;
  /** Writes what the method returns; undefined where no class of the answer is declared. */
  readonly serialize?: Serializer<object>;
}

type Declared = Omit<OperationFacts, 'permissions'> & Partial<Pick<OperationFacts, 'permissions'>>;

const UNDECLARED: Declared = {
  id: NO_ID,
  access: 'bearer',
  idempotent: false,
  bodyOptional: false,
  signUp: false,
  successes: [],
  conditional: false,
  errors: {},
  tag: { name: '', description: '' },
};

const FACTS = Symbol('facts of an operation');

/** Declares facts of a method, or of all methods of a controller. Several such decorators add up, in any order. */
export function Declare(facts: Partial<OperationFacts>): MethodDecorator & ClassDecorator {
  return (target: object, _name?: unknown, descriptor?: PropertyDescriptor) => {
    const declaring = (descriptor?.value as object | undefined) ?? target;
    Reflect.defineMetadata(FACTS, { ...declaredBy(declaring), ...facts }, declaring);
  };
}

function declaredBy(declaring: object): Partial<OperationFacts> | undefined {
  return Reflect.getMetadata(FACTS, declaring) as Partial<OperationFacts> | undefined;
}

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

/** What an operation may ask for, whatever the operator allows: the most of `OPERATION_MAX_SECONDS`. */
const MOST_SECONDS = 30;

/**
 * Names and documents an operation, and sets its success status. Every route has one. The method itself stays as it is:
 * what it returns is written as `returns` says when it is sent.
 */
export function Operation(options: OperationOptions): MethodDecorator {
  const { summary, description, returns, status = 200, located, gives, errors = {}, ...facts } = options;
  const { seconds = 1 } = facts;
  if (!(seconds > 0 && seconds <= MOST_SECONDS))
    throw new Error(
      `${facts.id} may take ${MOST_SECONDS} seconds, not ${seconds}: what takes longer is a job`,
    );
  if (facts.takes) requireTakes(facts.id, facts.takes);
  const [type, isArray] = Array.isArray(returns) ? [returns[0], true] : [returns, false];
  const serialize = type && (isArray ? listSerializer(type) : serializer(type));
  const successes = (facts.successes ?? [{ status, located }]).map((one) =>
    gives && hasBody(one.status) ? { gives, ...one } : one,
  );
  requireSuccesses(facts.id, successes, type !== undefined);
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
      returns: isArray ? undefined : type,
      serialize: serialize as Serializer<object> | undefined,
    }),
  );
}

/** Whether a success may be the class of the operation as JSON. */
function isJson({ status, gives }: Success): boolean {
  return hasBody(status) && (!gives || gives.types.includes(JSON_TYPE));
}

/** @throws Error that names the operation, for what cannot be answered or documented */
function requireSuccesses(id: string, successes: readonly Success[], hasClass: boolean): void {
  const statuses = successes.map(({ status }) => status);
  if (new Set(statuses).size < statuses.length)
    throw new Error(`${id} has two successes with one status: ${statuses.join(', ')}`);
  if (statuses.includes(206) && !statuses.includes(304))
    throw new Error(`${id} gives parts (206), and has to tell by 304 who has them`);
  for (const { status, gives } of successes) {
    if (gives && !hasBody(status)) throw new Error(`${id} gives a body with ${status}, which has none`);
    if (gives) requireGives(id, gives, hasClass);
  }
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
  const canActivate = (context: ExecutionContext): true => {
    const request = context.switchToHttp().getRequest<Request & Granted>();
    const value = (request.body as Record<string, unknown> | null)?.[field];
    if (typeof value === 'string' && Object.hasOwn(permissions, value))
      requirePermission(request, [permissions[value]!]);
    return true;
  };
  return applyDecorators(UseGuards({ canActivate }), Needs(...new Set(Object.values(permissions))));
}

/** What the sender of a request may do. */
interface Granted {
  /** None of an access token. */
  keyId?: string;
  /** Undefined stands for everything. */
  permissions?: ReadonlySet<string>;
}

/**
 * @param sufficient permissions of which one is enough; none need none
 * @throws ApiError `permission_denied`, which names what is missing
 */
export function requirePermission(
  { keyId, permissions: granted }: Granted,
  sufficient: readonly string[],
): void {
  if (!granted || sufficient.length === 0) return;
  for (const one of sufficient) if (granted.has(one)) return;
  const names = sufficient.map((one) => `\`${one}\``).join(' or ');
  if (keyId === undefined)
    throw insufficientScope(`The access token lacks the permission ${names}.`, sufficient);
  throw new ApiError('permission_denied', `The API key lacks the permission ${names}.`);
}

/** `permission_denied` for an access token (RFC 6750, 3.1). */
export function insufficientScope(message: string, missing: readonly string[]): ApiError {
  const scope = missing.length > 0 ? `, scope="${missing.join(' ')}"` : '';
  const headers = { 'WWW-Authenticate': `Bearer realm="petstore", error="insufficient_scope"${scope}` };
  return new ApiError('permission_denied', message, { headers });
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

  @Injectable()
  class SunsetGuard implements CanActivate {
    constructor(private readonly clock: Clock) {}

    canActivate(context: ExecutionContext): boolean {
      context.switchToHttp().getResponse<Response>().set(headers);
      if (this.clock.now() < end) return true;
      throw new ApiError(
        'operation_removed',
        `The operation was removed on ${sunset}. Use ${successor} instead.`,
      );
    }
  }
  return applyDecorators(UseGuards(mixin(SunsetGuard)), Declare({ sunset }));
}

type Handler = object;
type Controller = object;
/** By both, because several controllers can inherit one method. */
const known = new Map<Handler, Map<Controller, OperationFacts>>();

/** The facts of an operation, put together once; what the method declares comes before what its controller does. */
export function operationOf(handler: Handler, controller: Controller): OperationFacts {
  let facts = known.get(handler)?.get(controller);
  if (!facts) {
    const declared: Declared = { ...UNDECLARED, ...declaredBy(controller), ...declaredBy(handler) };
    facts = { ...declared, permissions: declared.permissions ?? usualPermissions(declared, handler) };
    known.set(handler, (known.get(handler) ?? new Map<Controller, OperationFacts>()).set(controller, facts));
  }
  return facts;
}

/** Reading needs `pets:read`, all else `pets:write`. */
function usualPermissions({ access, tag, subject = tag.name }: Declared, handler: Handler): string[] {
  if (access !== 'bearer') return [];
  const method = methodOf(handler);
  const isRead = method === RequestMethod.GET || method === RequestMethod.HEAD;
  return [`${subject}:${isRead ? 'read' : 'write'}`];
}

/** The HTTP method of a route; undefined for any other method of a class. Nest has no documented way to ask for it. */
export function methodOf(handler: object): RequestMethod | undefined {
  return Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
}
