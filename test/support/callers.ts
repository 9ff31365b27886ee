import { call, type CallOptions, type Credentials } from '../../src/testing/client.js';
import { document } from '../../src/testing/document.js';
import { query, type TestedService } from '../../src/testing/service.js';

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

/** Whoever asks for what an account has, by keys of every kind and otherwise. */
export class Callers {
  private readonly byList = new Map<string, Caller>();
  private others: Caller[] = [];

  private constructor(
    private readonly service: TestedService,
    private readonly account: Credentials,
    private readonly limits: ReadonlySet<string>,
  ) {}

  /** @param limits what the account may in the end; until its keys are made, it may everything */
  static async of(service: TestedService, account: Credentials, limits = ALL): Promise<Callers> {
    const callers = new Callers(service, account, new Set(limits));
    const lists = [ALL, READING, ...ALL.flatMap((one) => [[one], ALL.filter((name) => name !== one)])];
    for (const list of [undefined, ...lists]) await callers.add(list);
    callers.others = [...(await callers.replaced()), ...(await callers.refused()), ...callers.strangers()];
    return callers;
  }

  /**
   * Those that ask for what needs one of some permissions: with all of them, with each of those alone, with all but one, and
   * whoever has no key of its own choice. More would tell no more: what one alone opens, and all others do not, needs that one.
   */
  for(needed: readonly string[]): Caller[] {
    const lists = needed.flatMap((one) => [[one], ALL.filter((name) => name !== one)]);
    const names = [undefined, ALL, READING, ...lists].map((list) => nameOf(list));
    const found = [...new Set(names)].flatMap((name) => this.byList.get(name) ?? []);
    return [...found, ...this.others];
  }

  private async add(list?: string[]): Promise<void> {
    const { key } = await this.create(list);
    const may = this.limits.intersection(new Set(list ?? ALL));
    this.byList.set(nameOf(list), { name: nameOf(list), options: { key }, may });
  }

  /** Keys that took the place of others, and one whose overlap goes on. */
  private async replaced(): Promise<Caller[]> {
    const list = [...READING, 'orders:write'];
    const may = this.limits.intersection(new Set(list));
    const here = await this.create(list, ['127.0.0.0/8', '::1']);
    const [old, older] = [await this.create(list), await this.create(list)];
    const next = await this.send('POST', `/${old.id}/roll`, { overlapSeconds: 600 });
    await this.send('POST', `/${older.id}/roll`);
    return [
      { name: 'a key for here', options: { key: here.key }, may },
      { name: 'a key that was rolled, within the overlap', options: { key: old.key }, may },
      { name: 'the key in its place', options: { key: next.key }, may },
      { name: 'a key that was rolled', options: { key: older.key }, refusal: 'invalid_api_key' },
    ];
  }

  private async refused(): Promise<Caller[]> {
    const [expired, revoked] = [await this.create(), await this.create()];
    const expire = 'UPDATE api_keys SET expires_at = now() WHERE id = $1';
    await query(this.service.databaseUrl, expire, [expired.id]);
    await this.send('DELETE', `/${revoked.id}`);
    const elsewhere = await this.create(undefined, ['192.0.2.0/24', '2001:db8::/32']);
    return [
      { name: 'a key for elsewhere', options: { key: elsewhere.key }, refusal: 'permission_denied' },
      { name: 'a key that has expired', options: { key: expired.key }, refusal: 'invalid_api_key' },
      { name: 'a key that was revoked', options: { key: revoked.key }, refusal: 'invalid_api_key' },
      { name: 'a key that is none', options: { key: 'petstore_none' }, refusal: 'invalid_api_key' },
    ];
  }

  /** Callers without any key. */
  private strangers(): Caller[] {
    const { account } = this;
    const wrong = { ...account, password: 'wrong horse battery' };
    return [
      { name: 'nobody', options: {}, refusal: 'missing_api_key' },
      { name: 'the password', options: { account }, refusal: 'missing_api_key', isOwner: true },
      { name: 'a wrong password', options: { account: wrong }, refusal: 'missing_api_key' },
    ];
  }

  private create(permissions?: string[], networks?: string[]): Promise<Key> {
    return this.send('POST', '', { name: 'Limited', permissions, networks });
  }

  private async send(method: string, path: string, body?: unknown): Promise<Key> {
    const { account } = this;
    return (await call(this.service, method, `/v1/api-keys${path}`, { account, body })).body;
  }
}

const nameOf = (list?: readonly string[]) => (list ? `a key with ${list.join()}` : 'a key without a list');
