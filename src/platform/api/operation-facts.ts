import { RequestMethod, type Type } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import type { ErrorCode } from './error-codes.js';
import type { Serializer } from './serializer.js';

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

/** What the decorators of a method and of its controller say of an operation. */
export interface OperationFacts {
  /** The operationId. */
  readonly id: string;
  readonly access: Access;
  /** The permissions of which a key needs one; none where any key will do, or it is not opened by keys. */
  readonly permissions: readonly string[];
  readonly stability: 'beta' | 'experimental' | 'stable';
  /** Day from which a deprecated operation is gone, as YYYY-MM-DD (UTC). */
  readonly sunset?: string;
  /** Whether it accepts an `Idempotency-Key`. */
  readonly idempotent: boolean;
  /** Whether a request without a body stands for one with an empty object. */
  readonly bodyOptional: boolean;
  /** Whether accounts are made by it. */
  readonly signUp: boolean;
  /** Whether its answer has a `Location`. */
  readonly located: boolean;
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
  stability: 'stable',
  idempotent: false,
  bodyOptional: false,
  signUp: false,
  located: false,
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
  const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
  const isRead = method === RequestMethod.GET || method === RequestMethod.HEAD;
  return [`${subject}:${isRead ? 'read' : 'write'}`];
}

function declaredBy(declaring: object): Partial<OperationFacts> | undefined {
  return Reflect.getMetadata(FACTS, declaring) as Partial<OperationFacts> | undefined;
}
