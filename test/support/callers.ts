import { call, type CallOptions, type Credentials } from '../../src/testing/client.js';
import { document } from '../../src/testing/document.js';
import type { TestedService } from '../../src/testing/service.js';

/** Every permission, including those that modules add. */
export const ALL = document.components.schemas.Permission.enum as string[];
export const READING = ALL.filter((name) => name.endsWith(':read'));

/** A sender of requests: with a key, with a password, or with neither. */
export interface Caller {
  name: string;
  options: CallOptions;
  /** The permissions of the caller's key; undefined without a valid key. */
  may?: ReadonlySet<string>;
  /** The error code: of the 401 without a valid key, or of the 403 with a key for other networks. */
  refusal?: string;
  isOwner?: boolean;
}

/**
 * The callers for an operation that needs any one of some permissions: with all permissions, with only one of
 * those needed, with all but one of those, and without a usable key. More callers would not show more.
 */
export type Callers = (needed: readonly string[]) => Caller[];

/**
 * Makes callers for an account: with keys of every kind, and without a key.
 * @param limits the account's final permissions; the account has all of them until its keys are made
 */
export async function callersOf(
  service: TestedService,
  account: Credentials,
  limits: readonly string[] = ALL,
): Promise<Callers> {
  const create = async (permissions?: string[], networks?: string[]): Promise<CallOptions> => {
    const body = { name: 'Limited', permissions, networks };
    return { key: (await call(service, 'POST', '/v1/api-keys', { account, body })).body.key };
  };
  const byName = new Map<string, Caller>();
  for (const list of listsFor(ALL)) {
    const may = new Set(limits).intersection(new Set(list ?? ALL));
    byName.set(nameOf(list), { name: nameOf(list), options: await create(list), may });
  }
  const elsewhere = await create(undefined, ['192.0.2.0/24', '2001:db8::/32']);
  const wrong = { ...account, password: 'wrong horse battery' };
  // api-keys.test.ts has more invalid keys, for one operation.
  const others: Caller[] = [
    { name: 'a key for elsewhere', options: elsewhere, refusal: 'permission_denied' },
    { name: 'a key that is none', options: { key: 'petstore_none' }, refusal: 'invalid_api_key' },
    { name: 'nobody', options: {}, refusal: 'missing_api_key' },
    { name: 'the password', options: { account }, refusal: 'missing_api_key', isOwner: true },
    { name: 'a wrong password', options: { account: wrong }, refusal: 'missing_api_key' },
  ];
  return (needed) => {
    const names = new Set(listsFor(needed).map((list) => nameOf(list)));
    return [...[...names].flatMap((name) => byName.get(name) ?? []), ...others];
  };
}

/** The lists that keys are made with; without a list, a key has all permissions of its account. */
const listsFor = (needed: readonly string[]): (string[] | undefined)[] => [
  ...[undefined, ALL, READING],
  ...needed.flatMap((one) => [[one], ALL.filter((name) => name !== one)]),
];

const nameOf = (list?: readonly string[]) => (list ? `a key with ${list.join()}` : 'a key without a list');
