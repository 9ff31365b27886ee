import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../src/platform/api/formats.js';
import type { Database } from './database.js';
import { takesPart } from './operations.js';
import { OWN, type Own, type Probe, probes } from './probes.js';
import { type RunningServer, SERVERS } from './servers.js';
import { entityTag } from './wire.js';

/** Headers that every server must send identically with a success. */
const HEADERS = ['link', 'location', 'deprecation', 'sunset', 'idempotency-replayed', 'etag'];
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface Answer {
  status: number;
  headers: Record<string, string | null>;
  body: unknown;
  /** Whether the answer repeats, byte for byte, the previous answer under the same key. */
  isReplay: boolean;
}

/**
 * Compares the servers' answers to the same requests, except for new ids and times, and their audit records.
 * @throws Error that lists every answer that differs from the first server's
 */
export async function requireEqualAnswers(
  servers: RunningServer[],
  key: string,
  database: Database,
): Promise<number> {
  const [first, ...others] = servers;
  const expected = await askAll(first!, key, database);
  const differences: string[] = [];
  for (const server of others) {
    const answers = await askAll(server, key, database);
    for (const [what, answer] of answers)
      if (!isDeepStrictEqual(answer, expected.get(what)))
        differences.push(
          `${SERVERS[server.name].title}, ${what}\n  ${show(answer)}\n  ${show(expected.get(what))}`,
        );
  }
  if (differences.length === 0) return expected.size;
  throw new Error(
    `The servers do not do the same work; their answers first, then the service's:\n${differences.join('\n')}`,
  );
}

/** A server's answers and audit records, by probe. */
async function askAll(server: RunningServer, key: string, database: Database): Promise<Map<string, unknown>> {
  const own: Own = {
    server: server.name,
    pets: await database.addSupply('pets', OWN),
    orders: await database.addSupply('orders', OWN),
  };
  const all = new Map<string, unknown>();
  const last = new Map<string, string>();
  for (const [i, probe] of probes(own).entries())
    if (takesPart(server.name, probe.of))
      all.set(`probe ${i}: ${describe(probe)}`, await ask(server, key, probe, own, last));
  if (takesPart(server.name, 'keyed')) all.set('the audit log', await database.recordsOf(server.name));
  return all;
}

/** @param last the last answer under each `Idempotency-Key` */
async function ask(
  server: RunningServer,
  key: string,
  { method, path, body, headers }: Probe,
  own: Own,
  last: Map<string, string>,
): Promise<Answer> {
  const response = await fetch(server.url + path, {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    body: typeof body === 'string' || body === undefined ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const { 'Idempotency-Key': under } = headers ?? {};
  const [tag, address] = [response.headers.get('etag'), response.headers.get('location')];
  const whole = [response.status, address, tag, text].join(' ');
  const isReplay = under !== undefined && last.get(under) === whole;
  if (under !== undefined) last.set(under, whole);
  const named = HEADERS.map((name) => [
    name,
    response.ok ? withoutNews(response.headers.get(name), server.url) : null,
  ]);
  const id = response.headers.get('x-request-id') ?? 'none';
  return {
    status: response.status,
    headers: {
      ...Object.fromEntries(named),
      'x-request-id': id.replace(server.name, 'the server').replace(UUID, 'a new UUID'),
      ...(response.ok && tag && { etag: tag === entityTag(text) ? 'of the body' : tag }),
    },
    body: comparable(parseJson(text), method !== undefined, own),
    isReplay,
  };
}

/** A header without the server's address, new ids and cursors' contents, which differ between servers. */
function withoutNews(header: string | null, url: string): string | null {
  return (
    header
      ?.replaceAll(url, '')
      .replace(UUID, 'a UUID')
      .replace(/(?<=[?&]cursor=)[\w-]+/, 'a cursor')
      .replace(/\/\d+$/, '/an id') ?? null
  );
}

/** A body with placeholders for values that must differ, and without error messages. */
function comparable(body: unknown, isNew: boolean, own: Own): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const entries = Object.entries(body).map(([name, value]) => {
    if (name === 'id' && isNew)
      return [name, typeof value === 'string' ? value.replace(UUID, 'a UUID') : typeof value];
    if (name === 'petId') return [name, animalOf(value, own)];
    if (name.endsWith('At') && TIME.test(String(value))) return [name, 'a time'];
    if (name === 'message' && 'code' in body) return [name, typeof value];
    return [name, value];
  });
  return Object.fromEntries(entries);
}

/** The position of an animal among the animals of a server. */
function animalOf(id: unknown, { pets, orders }: Own): unknown {
  const [free, ofOrder] = [pets, orders].map(({ firstPet }) => Number(id) - firstPet) as [number, number];
  if (ofOrder >= 0 && ofOrder < OWN) return `that of order ${ofOrder}`;
  return free >= 0 && free < OWN ? `animal ${free}` : id;
}

function describe({ method = 'GET', path, body = '' }: Probe): string {
  // Ids of a server's own rows differ.
  const text = typeof body === 'string' ? body : JSON.stringify(body).replace(/"petId":\d+/, '"petId":…');
  return `${method} ${path.replace(/orders\/\d+/, 'orders/…')} ${text.slice(0, 80)}`;
}

function show(answer: unknown): string {
  const text = JSON.stringify(answer, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value));
  return text?.slice(0, 1_000) ?? 'none';
}
