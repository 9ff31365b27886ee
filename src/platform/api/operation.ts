import { RequestMethod, type Type } from '@nestjs/common';
import {
  METHOD_METADATA,
  RESPONSE_PASSTHROUGH_METADATA,
  ROUTE_ARGS_METADATA,
  SSE_METADATA,
} from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { ErrorCode } from './api-error.js';
import type { Gives, Takes } from './bodies.js';
import type { Serializer } from './dto.js';
import type { NeedsByValue } from './permissions.js';

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

/** When a deprecated operation ends, and what its answers say of that until then. */
export interface Sunsetting {
  /** Day from which it is gone, as YYYY-MM-DD (UTC), and the milliseconds of its beginning. */
  readonly day: string;
  readonly end: number;
  /** Path of the operation to use instead. */
  readonly successor: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What the decorators of a method and of its controller say of an operation. */
export interface OperationFacts {
  /** The operationId, which client generators use as the method name. */
  readonly id: string;
  readonly access: Access;
  /** The permissions of which a key needs one; none where any key will do, or it is not opened by keys. */
  readonly permissions: readonly string[];
  /** A property of the body, and the permission that each of its values needs. */
  readonly needsBy?: NeedsByValue;
  /** The end of a deprecated operation. */
  readonly sunset?: Sunsetting;
  /** Whether it accepts an `Idempotency-Key`. */
  readonly idempotent: boolean;
  /** Whether its method takes a body; any other may come with one, which is ignored. */
  readonly takesBody: boolean;
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
  /** The class of its answer, of each item if that is a list. */
  readonly returns?: Type;
  readonly isList?: boolean;
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

// What a method is, and what it takes, stands in Nest's own metadata, which it documents no way to ask for. Only this file does.

/** The HTTP method of a route; undefined for any other method of a class. */
export const methodOf = (handler: object) =>
  Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;

export const BODY = [RouteParamtypes.BODY];
const BODIES: readonly RouteParamtypes[] = [
  ...BODY,
  RouteParamtypes.RAW_BODY,
  RouteParamtypes.FILE,
  RouteParamtypes.FILES,
];
const SENDERS: readonly RouteParamtypes[] = [RouteParamtypes.RESPONSE, RouteParamtypes.NEXT];

/** The places of the parameters of a method that are of some kinds. */
export function placesOf(kinds: readonly RouteParamtypes[], controller: object, name: string): number[] {
  const parameters = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) as object | undefined;
  const all = Object.keys(parameters ?? {}).map((one) => one.split(':').map(Number) as [number, number]);
  return all.filter(([kind]) => kinds.includes(kind)).map(([, place]) => place);
}

/** Whether a method sends server-sent events. */
export const isSse = (handler: object): boolean => Reflect.hasMetadata(SSE_METADATA, handler);

/** Whether a method sends its answer itself, and does not return it. */
export function sendsItself(controller: object, name: string): boolean {
  const isShared = Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, controller, name) as
    boolean | undefined;
  return !isShared && placesOf(SENDERS, controller, name).length > 0;
}

type Undeclared = Omit<OperationFacts, 'permissions' | 'takesBody'>;

const UNDECLARED: Undeclared = {
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

/** By both, because several controllers can inherit one method. */
const known = new Map<object, Map<object, OperationFacts>>();

/**
 * The facts of an operation, put together once; what the method declares comes before what its controller does.
 * @param name of the method in its class
 */
export function operationOf(
  handler: object,
  controller: object,
  name = (handler as { name: string }).name,
): OperationFacts {
  let facts = known.get(handler)?.get(controller);
  if (!facts) {
    const all = { ...UNDECLARED, ...declaredBy(controller), ...declaredBy(handler) };
    facts = {
      ...all,
      permissions: all.permissions ?? usualPermissions(all, handler),
      takesBody: all.takes !== undefined || placesOf(BODIES, controller, name).length > 0,
      successes: successesOf(all, handler),
    };
    known.set(handler, (known.get(handler) ?? new Map<object, OperationFacts>()).set(controller, facts));
  }
  return facts;
}

/** Whoever reads what has an `ETag`, and knows it, is told so (RFC 9110, 13.1.2). */
function successesOf(
  { successes, entity, returns, isList }: Undeclared,
  handler: object,
): readonly Success[] {
  const isRead = methodOf(handler) === RequestMethod.GET && entity?.type === returns && !isList;
  return !entity || !isRead || hasSuccess({ successes }, 304) ? successes : [...successes, { status: 304 }];
}

/** Reading needs `pets:read`, all else `pets:write`. */
function usualPermissions({ access, tag, subject = tag.name }: Undeclared, handler: object): string[] {
  if (access !== 'bearer') return [];
  const method = methodOf(handler);
  const isRead = method === RequestMethod.GET || method === RequestMethod.HEAD;
  return [`${subject}:${isRead ? 'read' : 'write'}`];
}
