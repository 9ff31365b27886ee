import { randomBytes, randomUUID } from 'node:crypto';
import { type Answer, call, createAccount, createKey, type Credentials, credentialsFor } from './client.js';
import { addressOf, exampleOf, isPutting, operations, type Placed, statusesOf } from './contract.js';
import { bodySchema, parameters } from './generate.js';
import { query, type Service } from './service.js';

/** The table that an operation with an id in its path is about: the path names it before the id. */
const tableOf = ({ path }: Placed) => path.split('/{')[0]!.split('/').pop()!.replaceAll('-', '_');

const word = () => randomBytes(6).toString('hex');

/** The operation that makes what a parameter of a path names. */
function makerOf(name: string): Placed {
  const [collection] = operations.find(({ path }) => path.endsWith(`/{${name}}`))!.path.split(/\/\{\w+\}$/);
  return operations.find(
    (one) =>
      (one.method === 'POST' && one.path === collection) ||
      (isPutting(one) && one.path === `${collection}/{${name}}`),
  )!;
}

const NAMES = new Set(operations.flatMap((one) => parameters(one, 'path').map(({ name }) => name)));

/**
 * An account, and what it has: one of everything that a path of the document can name, and as many more as a test uses up.
 * All are made from the examples of the document, so those of added modules too. Texts that are nobody else's business
 * have the mark of the account.
 */
export class Belongings {
  /** Ids that stay as they are, by the parameter that takes them. */
  readonly kept = new Map<string, string>();
  private readonly mark = word();
  private readonly made = new Set<string>();

  private constructor(
    private readonly service: Service,
    readonly account: Credentials & { id: number },
    private readonly key: string,
    private readonly owned: ReadonlySet<string>,
  ) {}

  static async of(service: Service): Promise<Belongings> {
    const account = await createAccount(service);
    const columns = `SELECT table_name AS name FROM information_schema.columns WHERE column_name = 'account_id'`;
    const owned = (await query<{ name: string }>(service.databaseUrl, columns)).map(({ name }) => name);
    const all = new Belongings(service, account, await createKey(service, account), new Set(owned));
    for (const name of NAMES) all.kept.set(name, await all.make(name));
    return all;
  }

  /** Whether what an operation is about is that of one account; else all accounts share it. */
  isOwned(one: Placed): boolean {
    return this.owned.has(tableOf(one));
  }

  /** Makes what a parameter of a path names, and returns its id. */
  async make(name: string): Promise<string> {
    const maker = makerOf(name);
    const { account, key } = this;
    const { status, body } = await call(
      this.service,
      maker.method,
      addressOf(maker, () => randomUUID()),
      {
        ...credentialsFor(maker, { account, key }),
        body: await this.bodyFor(maker),
      },
    );
    expect(statusesOf(maker)).toContain(status);
    if (this.isOwned(maker)) this.made.add(`${tableOf(maker)} ${body.id}`);
    return String(body.id);
  }

  /** The example of a body, if there is one, with new texts, and with the ids of what has been made for it alone. */
  async bodyFor(one: Placed): Promise<Record<string, unknown> | undefined> {
    const example = exampleOf(one) as Record<string, unknown> | undefined;
    if (!example) return undefined;
    const mark = `${word()}-${opensWithKey(one) && !this.isOwned(one) ? '' : this.mark}`;
    const body = { ...example };
    for (const [name, { type, format, maxLength = Infinity }] of Object.entries(
      bodySchema(one)!.properties!,
    )) {
      if (!(name in example)) continue;
      if (NAMES.has(name))
        body[name] = type === 'integer' ? Number(await this.make(name)) : await this.make(name);
      if (type === 'string' && !format) body[name] = `${example[name] as string} ${mark}`.slice(-maxLength);
      if (format === 'email') body[name] = `${mark}@example.com`;
    }
    return body;
  }

  /** Takes the email that the account has from now on, if an answer to its owner says so. */
  learn(one: Placed, { status, body }: Answer): void {
    if (status === 200 && body.email && !opensWithKey(one)) this.account.email = body.email;
  }

  /** What an answer to somebody else tells of this account. */
  toldBy(one: Placed, { headers, text, body }: Answer): string[] {
    const told = `${JSON.stringify([...headers])} ${text}`;
    const ids = [body].flat().map((item) => `${tableOf(one)} ${item?.id}`);
    return [
      ...[this.mark, this.account.email, this.key].filter((secret) => told.includes(secret)),
      ...ids.filter((id) => this.made.has(id)),
    ];
  }

  /** The row of what an operation with an id in its path is about, as it is kept. */
  async row(one: Placed): Promise<unknown> {
    const { name } = parameters(one, 'path')[0]!;
    const sql = `SELECT to_jsonb(t) - 'last_used_at' AS row FROM ${tableOf(one)} t WHERE id::text = $1`;
    return query(this.service.databaseUrl, sql, [this.kept.get(name)]);
  }
}

const opensWithKey = ({ operation }: Placed) => operation.security.some((one) => 'bearerAuth' in one);
