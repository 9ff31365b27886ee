import type { Type } from '@nestjs/common';
import type { ErrorCode } from './api-error.js';
import type { Serializer } from './serializer.js';

/** How an operation is opened: to anyone, to an email and password, or to an API key. */
export type Access = 'public' | 'basic' | 'bearer';

/** The id of what no `@Operation` names: it is not in the OpenAPI document. */
export const NO_ID = 'none';

/** A heading of the OpenAPI document, with a line on what is under it. */
export interface Tag {
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
  readonly stability: 'beta' | 'experimental' | 'stable';
  /** Day from which a deprecated operation is gone, as YYYY-MM-DD (UTC). */
  readonly sunset?: string;
  /** Whether it accepts an `Idempotency-Key`. */
  readonly idempotent: boolean;
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
  readonly tag: Tag;
  /** The request that the service makes because of it. */
  readonly webhook?: Webhook;
  /** Writes what the method returns; undefined where no class of the answer is declared. */
  readonly serialize?: Serializer<object>;
}

const UNDECLARED: OperationFacts = {
  id: NO_ID,
  access: 'bearer',
  stability: 'stable',
  idempotent: false,
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
    facts = { ...UNDECLARED, ...declaredBy(controller), ...declaredBy(handler) };
    known.set(handler, (known.get(handler) ?? new Map<Controller, OperationFacts>()).set(controller, facts));
  }
  return facts;
}

function declaredBy(declaring: object): Partial<OperationFacts> | undefined {
  return Reflect.getMetadata(FACTS, declaring) as Partial<OperationFacts> | undefined;
}
