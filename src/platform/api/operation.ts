import { type NestInterceptor, RequestMethod, type Type, VERSION_NEUTRAL } from '@nestjs/common';
import {
  INTERCEPTORS_METADATA,
  METHOD_METADATA,
  PATH_METADATA,
  PIPES_METADATA,
  RESPONSE_PASSTHROUGH_METADATA,
  ROUTE_ARGS_METADATA,
  SSE_METADATA,
  VERSION_METADATA,
} from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { DECORATORS } from '@nestjs/swagger';
import type { ErrorCode } from './declarations.js';
import type { Gives, Takes } from './bodies.js';
import { classIn, type Serializer } from './dto.js';
import { type Needs, NeedsBy } from './permissions.js';

/** The credentials of an operation: none, an email and password, or an API key. */
export type Access = 'public' | 'basic' | 'bearer';

/** The id of routes without an operationId. */
export const NO_ID = 'none';

/** A request that the service sends. */
export interface Webhook {
  /** The operationId. */
  readonly id: string;
  readonly summary: string;
  readonly description: string;
  /** Class of the JSON body. */
  readonly body: Type;
  /** The headers with their descriptions. */
  readonly headers: Readonly<Record<string, string>>;
  /** What the service does after an answer, keyed by status, by class of statuses such as `2XX`, or by `default`. */
  readonly answers: Readonly<Record<string, string>>;
}

export interface Success {
  readonly status: number;
  /** Whether the answer has a `Location`: the address of the request, plus the item's `id` except for a PUT. */
  readonly located?: boolean;
  /** Meaning, if the status does not say it. */
  readonly means?: string;
  /** The media types of the body, if they differ from those of the operation; JSON by default. */
  readonly gives?: Gives;
}

/** Whether an answer with a status may have a body (RFC 9110, 15). */
export const hasBody = (status: number): boolean => status < 300 && status !== 204 && status !== 205;

/** Whether an operation has a success with a status, such as 304. */
export function hasSuccess({ successes }: Pick<OperationFacts, 'successes'>, status: number): boolean {
  return successes.some((success) => success.status === status);
}

/** The end of a deprecated operation, and the headers that announce it. */
export interface Sunsetting {
  /** First day of the removal, as YYYY-MM-DD (UTC), and its start in milliseconds since 1970. */
  readonly day: string;
  readonly end: number;
  /** First day of the deprecation, as YYYY-MM-DD (UTC). */
  readonly deprecated: string;
  /** Path of the operation to use instead. */
  readonly successor: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The facts that the decorators of a method and of its controller declare. */
export interface OperationFacts {
  /** The operationId, which client generators use as the method name. */
  readonly id: string;
  readonly access: Access;
  /** The declared `needs`; undefined without a declaration. */
  readonly needs?: Needs;
  /** A key needs one of these permissions; empty if any key will do, or if the operation takes no keys. */
  readonly permissions: readonly string[];
  readonly sunset?: Sunsetting;
  /** Whether the operation accepts an `Idempotency-Key`; `insert` if its method does nothing but return an `Insert`. */
  readonly idempotent: boolean | 'insert';
  /** Whether the method takes the request body; otherwise, the method ignores a body. */
  readonly takesBody: boolean;
  /** Whether requests may have a body, which is read and checked even if the method takes none. */
  readonly readsBody: boolean;
  /** Whether a missing body stands for an empty object. */
  readonly bodyOptional: boolean;
  /** Whether the operation creates accounts. */
  readonly signUp: boolean;
  /** The request body; by default a small JSON object. */
  readonly takes?: Takes;
  readonly successes: readonly Success[];
  /** Whether the answers have an `ETag`. */
  readonly isTagged: boolean;
  /** Seconds until the first byte of the answer; 2.9 by default. */
  readonly seconds?: number;
  /** The order of a list that is ordered neither by id nor by a parameter, such as `the newest first`. */
  readonly sorted?: string;
  /** The class whose answers carry an `ETag` (`@EntityTags`), and its serializer. */
  readonly entity?: { readonly type: Type; readonly serialize: Serializer<object> };
  /** Whether the operation accepts `If-Match`. */
  readonly conditional: boolean;
  /** The class of the answer, or of an item of a list. */
  readonly returns?: Type;
  readonly isList?: boolean;
  /** The operation's own errors with their statuses, besides those of every operation. */
  readonly errors: Readonly<Partial<Record<ErrorCode, number>>>;
  /** The request that the service sends because of the operation. */
  readonly webhook?: Webhook;
  /** Writes the method's value as JSON; undefined without `returns`. */
  readonly serialize?: Serializer<object>;
}

const FACTS = Symbol('facts of an operation');

/** Declares facts of a method, or of all methods of a controller. Decorators add up in any order. */
export function Declare(facts: Partial<OperationFacts>): MethodDecorator & ClassDecorator {
  return (target: object, _name?: unknown, descriptor?: PropertyDescriptor) => {
    const declaring = (descriptor?.value as object | undefined) ?? target;
    Reflect.defineMetadata(FACTS, { ...declaredBy(declaring), ...facts }, declaring);
  };
}

function declaredBy(declaring: object): Partial<OperationFacts> | undefined {
  return Reflect.getMetadata(FACTS, declaring) as Partial<OperationFacts> | undefined;
}

// Only this file reads Nest's metadata of methods and parameters, which Nest does not document.

/** The HTTP method of a route handler; undefined for a class method that handles no route. */
export const methodOf = (handler: object) =>
  Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;

const { BODY, QUERY, PARAM, RAW_BODY, FILE, FILES, RESPONSE, NEXT } = RouteParamtypes;
const BODIES = new Set([BODY, RAW_BODY, FILE, FILES]);
const SENDERS = new Set([RESPONSE, NEXT]);
const NO_CLASSES = new Set<unknown>([Object, Array]);
/** The parts of a request that have a DTO class. */
const PARTS = new Map([
  [BODY, 'body'],
  [QUERY, 'query'],
  [PARAM, 'path'],
]);

/** A parameter of a method. */
export interface Parameter {
  readonly kind: RouteParamtypes;
  /** The part of the request that the parameter gets, or gets a property of: `body`, `query` or `path`. */
  readonly part?: string;
  /** Whether the parameter gets the whole part, without pipes of its own. */
  readonly isWhole: boolean;
  /** Undefined for an interface, a union or a type-only import, for which TypeScript emits `Object`. */
  readonly type?: Type<object>;
}

/** The parameters that Nest injects into a method. */
export function parametersOf(controller: Type, name: string): Parameter[] {
  const prototype = controller.prototype as object;
  const types = (Reflect.getMetadata('design:paramtypes', prototype, name) ?? []) as Type<object>[];
  const all = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<
    string,
    { readonly index: number; readonly data?: unknown; readonly pipes?: readonly unknown[] }
  >;
  return Object.entries(all).map(([key, { index, data, pipes = [] }]) => {
    const kind: RouteParamtypes = Number(key.split(':', 1)[0]);
    const part = PARTS.get(kind);
    const isWhole = part !== undefined && data === undefined && pipes.length === 0;
    const type = NO_CLASSES.has(types[index]) ? undefined : types[index];
    return { kind, part, isWhole, type };
  });
}

/**
 * Makes an interceptor run before all others, for the methods of a controller that read a body. A global interceptor would cost
 * every request 2.5 µs, and would make Nest send the headers of an event stream before the method runs, so that a failure of the
 * method could not be answered. Interceptors that decorators add run in the order of the decorators.
 */
export function interceptFirst(
  interceptor: NestInterceptor,
  controller: Type,
  handlers: readonly object[],
): void {
  // The interceptors of a controller run before those of its methods.
  for (const target of Reflect.hasMetadata(INTERCEPTORS_METADATA, controller) ? [controller] : handlers) {
    const others = (Reflect.getMetadata(INTERCEPTORS_METADATA, target) ?? []) as unknown[];
    if (others[0] !== interceptor)
      Reflect.defineMetadata(INTERCEPTORS_METADATA, [interceptor, ...others], target);
  }
}

/** The class of the body, if the method takes the whole validated body, without pipes of its own. */
export function wholeBodyOf(handler: object, controller: Type, name: string): Type<object> | undefined {
  const hasPipes = [handler, controller].some((target) => Reflect.hasMetadata(PIPES_METADATA, target));
  const bodies = parametersOf(controller, name).filter(({ kind }) => kind === BODY);
  return !hasPipes && bodies.length === 1 && bodies[0]!.isWhole ? bodies[0]!.type : undefined;
}

/** A route's number of addresses in the document: one for each version, path and method. */
export function countAddresses(handler: object, controller: Type): number {
  const own = (key: string, target: object) => Reflect.getMetadata(key, target) as unknown;
  const versions = [own(VERSION_METADATA, handler) ?? own(VERSION_METADATA, controller)].flat();
  const paths = [handler, controller].map((target) => [own(PATH_METADATA, target)].flat().length);
  // `@All` stands for several methods: any number above 1 is refused.
  const methods = methodOf(handler) === RequestMethod.ALL ? 2 : 1;
  return versions.filter((version) => version !== VERSION_NEUTRAL).length * paths[0]! * paths[1]! * methods;
}

// Metadata of Swagger's decorators.

function operationIdOf(handler: object): string {
  const { operationId } = (Reflect.getMetadata(DECORATORS.API_OPERATION, handler) ?? {}) as {
    operationId?: string;
  };
  return operationId ?? NO_ID;
}

/** The classes that Swagger's decorators of a method and of its controller name: of answers, parameters and further schemas. */
export function modelsOf(handler: object, controller: Type): Type<object>[] {
  return [handler, controller].flatMap((target) => {
    const said = (key: string) =>
      Object.values((Reflect.getMetadata(key, target) ?? {}) as object) as unknown[];
    const typed = [...said(DECORATORS.API_RESPONSE), ...said(DECORATORS.API_PARAMETERS)] as {
      type?: unknown;
    }[];
    return [...typed.map(({ type }) => type), ...said(DECORATORS.API_EXTRA_MODELS)].flatMap(classIn);
  });
}

/** The tags of an operation. */
export function tagsOf(handler: object, controller: Type): readonly string[] {
  const all = [controller, handler].flatMap(
    (target) => (Reflect.getMetadata(DECORATORS.API_TAGS, target) ?? []) as string[],
  );
  return [...new Set(all)];
}

/** Whether the document leaves a route out. */
export function isExcluded(handler: object, controller: Type): boolean {
  const ofMethod = Reflect.getMetadata(DECORATORS.API_EXCLUDE_ENDPOINT, handler) as
    { disable?: boolean } | undefined;
  const [ofController] = (Reflect.getMetadata(DECORATORS.API_EXCLUDE_CONTROLLER, controller) ??
    []) as boolean[];
  return Boolean(ofController) || Boolean(ofMethod?.disable);
}

/** Whether a method sends server-sent events. */
export const isSse = (handler: object): boolean => Reflect.hasMetadata(SSE_METADATA, handler);

/** Whether a method sends its answer by `@Res()` instead of returning it. */
export function sendsItself(controller: Type, name: string): boolean {
  const isShared = Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, controller, name) as
    boolean | undefined;
  return !isShared && parametersOf(controller, name).some(({ kind }) => SENDERS.has(kind));
}

/** Methods whose requests usually have a body. */
const { POST, PUT, PATCH, ALL } = RequestMethod;
const WITH_BODY = new Set<RequestMethod | undefined>([POST, PUT, PATCH, ALL]);

type Declared = Omit<OperationFacts, 'id' | 'permissions' | 'takesBody' | 'readsBody' | 'isTagged'>;

const DEFAULTS: Declared = {
  access: 'bearer',
  idempotent: false,
  bodyOptional: false,
  signUp: false,
  successes: [],
  conditional: false,
  errors: {},
};

/** The facts, keyed by method and controller, because several controllers can inherit a method. */
const cache = new Map<object, Map<object, OperationFacts>>();

/**
 * The facts of an operation, composed once; facts of the method override facts of the controller.
 * @param name of the method in its class
 */
export function operationOf(
  handler: object,
  controller: Type,
  name = (handler as { name: string }).name,
): OperationFacts {
  const byController = cache.getOrInsertComputed(handler, () => new Map());
  return byController.getOrInsertComputed(controller, () => compose(handler, controller, name));
}

function compose(handler: object, controller: Type, name: string): OperationFacts {
  const all = { ...DEFAULTS, ...declaredBy(controller), ...declaredBy(handler) };
  const { access, needs, entity, returns, isList, successes: declared } = all;
  const takesBody =
    all.takes !== undefined || parametersOf(controller, name).some(({ kind }) => BODIES.has(kind));
  const ofEntity = entity !== undefined && entity.type === returns && !isList;
  const has304 = hasSuccess(all, 304);
  // A GET of a tagged entity supports `If-None-Match` (RFC 9110, 13.1.2).
  const adds304 = ofEntity && !has304 && methodOf(handler) === RequestMethod.GET;
  return {
    ...all,
    id: operationIdOf(handler),
    permissions: access === 'bearer' ? permissionsIn(needs) : [],
    takesBody,
    readsBody: takesBody || WITH_BODY.has(methodOf(handler)),
    successes: adds304 ? [...declared, { status: 304 }] : declared,
    isTagged: ofEntity || has304,
  };
}

function permissionsIn(needs: Needs = 'nothing'): readonly string[] {
  if (needs === 'nothing') return [];
  return needs instanceof NeedsBy ? needs.all : [needs].flat();
}
