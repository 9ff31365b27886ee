import type { Belongings } from './belongings.js';
import type { Caller } from './callers.js';
import { type Answer, call } from './client.js';
import { randomUUID } from 'node:crypto';
import { addressOf, exampleOf, isPutting, type Placed, successOf } from './contract.js';
import { absent, parameters } from './generate.js';
import type { Service } from './service.js';

/** Whose a request asks for, or whether it can be understood at all. */
const TARGETS = ['own', "another's", "nobody's", 'malformed'] as const;
type Target = (typeof TARGETS)[number];

/** A body whose value decides which of the permissions of its operation is needed, and what comes of it; or only that. */
interface Choice {
  body?: Record<string, unknown>;
  needs: string;
  status: number;
}

/** Operations that let one of several permissions in: what they ask for decides which. */
const CHOICES: Record<string, Choice[]> = {
  updateOrder: [
    { body: { status: 'approved' }, needs: 'orders:manage', status: 200 },
    { body: { status: 'delivered' }, needs: 'orders:manage', status: 409 },
    { body: { status: 'cancelled' }, needs: 'orders:write', status: 200 },
  ],
};

/** The permissions of which an operation needs one; undefined where no key opens it. */
export function neededBy({ operation: { security } }: Placed): string[] | undefined {
  return security.some((one) => 'bearerAuth' in one)
    ? security.flatMap((one) => one.bearerAuth ?? [])
    : undefined;
}

/** What an operation is asked for, of what one account has or the next. */
export interface Request {
  one: Placed;
  caller: Caller;
  has: Belongings;
  next: Belongings;
  target: Target;
  choice?: Choice;
}

/** The answer that a caller is to get; `names` are in its message. */
interface Rule {
  status: number;
  code?: string;
  names?: string[];
}

/** All that a caller asks an operation for. */
export function requestsFor(asked: Pick<Request, 'one' | 'caller' | 'has' | 'next'>): Request[] {
  const { one } = asked;
  const hasBody = one.operation.requestBody !== undefined;
  const isList = parameters(one, 'query').some(({ name }) => name === 'limit');
  const fitting = TARGETS.filter((target) => {
    if (target === 'own' || parameters(one, 'path').length > 0) return true;
    return target === 'malformed' && (hasBody || isList);
  });
  const choices = CHOICES[one.operation.operationId] ?? [undefined];
  return fitting.flatMap((target) =>
    (target === 'malformed' ? [undefined] : choices).map((choice) => ({ ...asked, target, choice })),
  );
}

/** Who may do what: 401 before 403, which comes before anything that the request holds or names. */
function ruleFor({ one, caller: { may, refusal, isOwner }, has, target, choice }: Request): Rule {
  const needed = neededBy(one);
  if (!needed && !isOwner) return { status: 401, code: 'invalid_credentials' };
  if (needed && !may) return { status: refusal === 'permission_denied' ? 403 : 401, code: refusal };
  const lacks = (names: string[]) => names.length > 0 && !names.some((name) => may!.has(name));
  if (needed && lacks(needed)) return { status: 403, code: 'permission_denied', names: needed };
  if (target === 'malformed') return { status: 400 };
  if (choice && lacks([choice.needs]))
    return { status: 403, code: 'permission_denied', names: [choice.needs] };
  if (target === "nobody's" && isPutting(one)) return { status: 201 };
  if (target === "nobody's" || (target === "another's" && has.isOwned(one))) return { status: 404 };
  return { status: choice?.status ?? successOf(one).status };
}

/** Sends a request, and says what is wrong with its answer. */
export async function ask(service: Service, request: Request): Promise<string[]> {
  const { one, caller, target, choice, has, next } = request;
  const rule = ruleFor(request);
  const isTaken = one.method !== 'GET' && [200, 201, 202, 204, 409].includes(rule.status);
  const answer = await call(service, one.method, await addressFor(request, isTaken), {
    ...caller.options,
    body: await bodyFor(request, isTaken),
  });
  has.learn(one, answer);
  const what = `${caller.name} for ${target} ${JSON.stringify(choice?.body ?? '')}`;
  const told = next.toldBy(one, answer).map((secret) => `${what} was told ${secret}`);
  if (isAs(rule, answer)) return told;
  return [...told, `${what}: ${answer.status} ${answer.text}, not ${Object.values(rule).join(' ')}`];
}

function isAs({ status, code, names = [] }: Rule, answer: Answer): boolean {
  return (
    answer.status === status &&
    (code === undefined || answer.body.code === code) &&
    names.every((name) => answer.body.message.includes(`\`${name}\``))
  );
}

/** The address of what is asked for: a new one if it is taken, so that all others stay as they are. */
async function addressFor({ one, target, has, next }: Request, isTaken: boolean): Promise<string> {
  const isList = parameters(one, 'query').some(({ name }) => name === 'limit');
  if (target === 'malformed') return addressOf(one, () => 'x'.repeat(5_000)) + (isList ? '?limit=0' : '');
  if (target === "nobody's") return addressOf(one, isPutting(one) ? () => randomUUID() : absent);
  const owner = target === 'own' ? has : next;
  const ids = new Map(owner.kept);
  for (const { name } of isTaken ? parameters(one, 'path') : []) ids.set(name, await owner.make(name));
  return addressOf(one, ({ name }) => ids.get(name));
}

async function bodyFor({ one, target, has, choice }: Request, isTaken: boolean): Promise<unknown> {
  if (target === 'malformed') return exampleOf(one) && '{';
  return choice?.body ?? (isTaken ? has.bodyFor(one) : exampleOf(one));
}
