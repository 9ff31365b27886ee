import { randomUUID } from 'node:crypto';
import type { Belongings } from './belongings.js';
import type { Caller } from './callers.js';
import { type Answer, call } from '../../src/testing/client.js';
import {
  absent,
  addressOf,
  type Content,
  contentOf,
  exampleOf,
  makes,
  parametersIn,
  type Placed,
  statusesOf,
  successOf,
} from '../../src/testing/document.js';
import type { Choice } from '../../src/testing/facts.js';
import { parameters } from './schema.js';
import type { TestedService } from '../../src/testing/service.js';

/** Whose resource a request names: the caller's, another account's, nobody's; or with a malformed address. */
const TARGETS = ['own', "another's", "nobody's", 'malformed'] as const;
type Target = (typeof TARGETS)[number];

/** The permissions of which an operation needs any one; undefined if it accepts no key. */
export function neededBy({ operation: { security } }: Placed): string[] | undefined {
  return security.some((one) => 'bearerAuth' in one)
    ? security.flatMap((one) => one.bearerAuth ?? [])
    : undefined;
}

/** A request of a caller for an operation, on what one account (`has`) or the other (`next`) owns. */
export interface Request {
  one: Placed;
  caller: Caller;
  has: Belongings;
  next: Belongings;
  target: Target;
  choice?: Choice;
}

/** The answer that a caller should get; its message contains `names`. */
interface Rule {
  status: number;
  /** Other correct statuses. */
  or?: number[];
  code?: string;
  names?: string[];
}

/** All requests of a caller for an operation. */
export function requestsFor(
  asked: Pick<Request, 'one' | 'caller' | 'has' | 'next'>,
  choices?: readonly Choice[],
): Request[] {
  const { one } = asked;
  const hasBody = one.operation.requestBody !== undefined;
  const isList = parameters(one, 'query').some(({ name }) => name === 'limit');
  const fitting = TARGETS.filter((target) => {
    if (target === 'own' || parameters(one, 'path').length > 0) return true;
    return target === 'malformed' && (hasBody || isList);
  });
  return fitting.flatMap((target) =>
    ((target !== 'malformed' && choices) || [undefined]).map((choice) => ({ ...asked, target, choice })),
  );
}

/** Who may do what. 401 comes before 403, and both come before any fault of the request itself. */
function ruleFor({ one, caller: { may, refusal, isOwner }, has, target, choice }: Request): Rule {
  const needed = neededBy(one);
  if (!needed && !isOwner) return { status: 401, code: 'invalid_credentials' };
  if (needed && !may) return { status: refusal === 'permission_denied' ? 403 : 401, code: refusal };
  const lacks = (names: string[]) => names.length > 0 && !names.some((name) => may!.has(name));
  if (needed && lacks(needed)) return { status: 403, code: 'permission_denied', names: needed };
  if (target === 'malformed') return { status: 400 };
  if (choice && lacks([choice.needs]))
    return { status: 403, code: 'permission_denied', names: [choice.needs] };
  const { status } = choice ?? successOf(one);
  const named = parametersIn(one);
  const isMissing = (all: typeof named) =>
    all.length > 0 && (target === "nobody's" || (target === "another's" && has.isWithinOwned(all)));
  if (!putsNew(one)) return { status: isMissing(named) ? 404 : status };
  if (isMissing(named.slice(0, -1))) return { status: 404 };
  if (target === "nobody's") return { status };
  // A PUT to an existing resource replaces it or is refused; to another account's, it may also make a new one.
  return {
    status,
    or: [...statusesOf(one), ...(target === "another's" && has.isOwned(one) ? [403, 404] : []), 409],
  };
}

/** Whether an operation creates a resource with an id chosen by the client. */
const putsNew = (one: Placed) => one.method === 'PUT' && makes(one);

export async function ask(service: TestedService, request: Request): Promise<string[]> {
  const { one, caller, target, choice, has, next } = request;
  const rule = ruleFor(request);
  const isTaken = one.method !== 'GET' && [200, 201, 202, 204, 409].includes(rule.status);
  const answer = await call(service, one.method, await addressFor(request, isTaken), {
    ...caller.options,
    ...(await contentFor(request, isTaken)),
  });
  has.learn(one, answer);
  const what = `${caller.name} for ${target} ${JSON.stringify(choice?.body ?? '')}`;
  const told = next.toldBy(one, answer).map((secret) => `${what} was told ${secret}`);
  if (isAs(rule, answer)) return told;
  return [...told, `${what}: ${answer.status} ${answer.text}, not ${Object.values(rule).join(' ')}`];
}

function isAs({ status, or = [], code, names = [] }: Rule, answer: Answer): boolean {
  return (
    [status, ...or].includes(answer.status) &&
    (code === undefined || answer.body.code === code) &&
    names.every((name) => answer.body.message.includes(`\`${name}\``))
  );
}

/** The address of the resource. Makes a new resource first if the request uses it up, so that all others stay. */
async function addressFor({ one, target, has, next }: Request, isTaken: boolean): Promise<string> {
  const isList = parameters(one, 'query').some(({ name }) => name === 'limit');
  if (target === 'malformed') return addressOf(one, () => 'x'.repeat(5_000), isList ? { limit: '0' } : {});
  const all = parametersIn(one);
  const isNew = putsNew(one) && all.length === 1;
  if (target === "nobody's") return addressOf(one, isNew ? () => randomUUID() : absent);
  const owner = target === 'own' ? has : next;
  const ids = new Map(owner.kept);
  for (const { collection } of isTaken ? all : []) ids.set(collection, await owner.make(collection, ids));
  return addressOf(one, ({ name }) => ids.get(all.find((parameter) => parameter.name === name)!.collection));
}

async function contentFor({ one, target, has, choice }: Request, isTaken: boolean): Promise<Content> {
  if (target === 'malformed') return exampleOf(one) ? { body: '{' } : {};
  if (choice?.body) return { body: choice.body };
  return isTaken ? has.contentFor(one) : contentOf(one);
}
