import { call, type CallOptions, type Credentials } from '../../src/testing/client.js';
import { document } from '../../src/testing/document.js';
import { query, type Service } from '../../src/testing/service.js';

/** Every permission: modules add theirs. */
export const ALL = document.components.schemas.Permission.enum as string[];
export const READING = ALL.filter((name) => name.endsWith(':read'));

/** Whoever sends requests: with a key or a password, or neither. */
export interface Caller {
  name: string;
  options: CallOptions;
  /** What it may do with a key; undefined if it has none that is valid. */
  may?: ReadonlySet<string>;
  /** The code of the 401 that it gets without a valid key, or of the 403 with one for somewhere else. */
  refusal?: string;
  /** Whether it has the password of the account. */
  isOwner?: boolean;
}

interface Key {
  id: number;
  key: string;
}

/** What the keys of an account are made with; undefined for a key that is made without a list. */
const LISTS: Record<string, string[] | undefined> = {
  'a key that has everything': undefined,
  'a key with every permission': ALL,
  'a key that only reads': READING,
  ...Object.fromEntries(ALL.map((one) => [`a key with ${one} alone`, [one]])),
  ...Object.fromEntries(ALL.map((one) => [`a key without ${one}`, ALL.filter((name) => name !== one)])),
};

/**
 * Whoever asks for what an account has, by keys of every kind and otherwise. `limits` are what the account may in the end;
 * until its keys are made, it may everything.
 */
export async function callersOf(
  service: Service,
  account: Credentials,
  limits: readonly string[],
): Promise<Caller[]> {
  const maker = new KeyMaker(service, account);
  const both = new Set(limits);
  const callers: Caller[] = [];
  for (const [name, list] of Object.entries(LISTS)) {
    const { key } = await maker.create(list);
    callers.push({ name, options: { key }, may: new Set(list ?? ALL).intersection(both) });
  }
  return [...callers, ...(await replaced(maker, both)), ...(await refused(maker)), ...strangers(account)];
}

/** Keys that took the place of others, and one whose overlap goes on. */
async function replaced(maker: KeyMaker, limits: ReadonlySet<string>): Promise<Caller[]> {
  const list = [...READING, 'orders:write'];
  const may = new Set(list).intersection(limits);
  const here = await maker.create(list, ['127.0.0.0/8', '::1']);
  const [old, older] = [await maker.create(list), await maker.create(list)];
  const next = await maker.send('POST', `/${old.id}/roll`, { overlapSeconds: 600 });
  const second = await maker.send('POST', `/${older.id}/roll`);
  return [
    { name: 'a key for here', options: { key: here.key }, may },
    { name: 'a key that was rolled, within the overlap', options: { key: old.key }, may },
    { name: 'the key in its place', options: { key: next.key }, may },
    { name: 'a key in the place of another', options: { key: second.key }, may },
    { name: 'a key that was rolled', options: { key: older.key }, refusal: 'invalid_api_key' },
  ];
}

async function refused(maker: KeyMaker): Promise<Caller[]> {
  const [expired, revoked] = [await maker.create(), await maker.create()];
  await query(maker.service.databaseUrl, 'UPDATE api_keys SET expires_at = now() WHERE id = $1', [
    expired.id,
  ]);
  await maker.send('DELETE', `/${revoked.id}`);
  const elsewhere = await maker.create(undefined, ['192.0.2.0/24', '2001:db8::/32']);
  return [
    { name: 'a key for elsewhere', options: { key: elsewhere.key }, refusal: 'permission_denied' },
    { name: 'a key that has expired', options: { key: expired.key }, refusal: 'invalid_api_key' },
    { name: 'a key that was revoked', options: { key: revoked.key }, refusal: 'invalid_api_key' },
    { name: 'a key that is none', options: { key: 'petstore_none' }, refusal: 'invalid_api_key' },
  ];
}

/** Callers without any key. */
function strangers(account: Credentials): Caller[] {
  const wrong = { ...account, password: 'wrong horse battery' };
  return [
    { name: 'nobody', options: {}, refusal: 'missing_api_key' },
    { name: 'the password', options: { account }, refusal: 'missing_api_key', isOwner: true },
    { name: 'a wrong password', options: { account: wrong }, refusal: 'missing_api_key' },
  ];
}

class KeyMaker {
  constructor(
    readonly service: Service,
    private readonly account: Credentials,
  ) {}

  create(permissions?: string[], networks?: string[]): Promise<Key> {
    return this.send('POST', '', { name: 'Limited', permissions, networks });
  }

  async send(method: string, path: string, body?: unknown): Promise<Key> {
    const { account } = this;
    return (await call(this.service, method, `/v1/api-keys${path}`, { account, body })).body;
  }
}
