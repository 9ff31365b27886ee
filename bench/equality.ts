import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../src/platform/api/formats.js';
import type { Database } from './database.js';
import { entityTag } from './entity-tag.js';
import { keepsPromises, takesPart } from './operations.js';
import { OWN, type Own, type Probe, probes } from './probes.js';
import { type RunningServer, SERVERS } from './servers.js';

/** Headers that every server must send identically with a success. */
const HEADERS = ['link', 'location', 'deprecation', 'sunset'];
/** And where all keep the promises about keys and tags. */
const PROMISED = ['idempotency-replayed'];
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface Answer {
  status: number;
  headers: Record<string, string | boolean | null>;
  body: unknown;
}

/** What a server has answered, and left behind. */
interface Answers {
  server: RunningServer;
  asked: Probe[];
  answers: (Answer | undefined)[];
  traces: object[];
}

/**
 * Sends the same requests to every server that takes part in their operations, and compares status, body and headers,
 * except for new ids and times; and what those who keep promises have left in the database.
 * @throws Error that lists every answer that differs from the first server's
 */
export async function requireEqualAnswers(
  servers: RunningServer[],
  key: string,
  database: Database,
): Promise<number> {
  const all: Answers[] = [];
  // One after the other: some of what is asked is prepared on the one connection to the database.
  for (const server of servers) all.push(await askAll(server, key, database));
  const [first, ...others] = all;
  const differences = others.flatMap((one) => [
    ...one.answers.flatMap((answer, i) =>
      answer === undefined || isDeepStrictEqual(answer, first!.answers[i])
        ? []
        : [difference(one, describe(one.asked[i]!), answer, first!.answers[i])],
    ),
    ...(!takesPart(one.server.name, 'keyed') || isDeepStrictEqual(one.traces, first!.traces)
      ? []
      : [difference(one, 'in the database', without(one, first!), without(first!, one))]),
  ]);
  if (differences.length > 0) {
    throw new Error(
      `The servers do not do the same work; their answers first, then the service's:\n${differences.join('\n')}`,
    );
  }
  return first!.answers.length;
}

async function askAll(server: RunningServer, key: string, database: Database): Promise<Answers> {
  const own: Own = {
    server: server.name,
    pets: await database.addAvailablePets(OWN),
    orders: await database.addPlacedOrders(OWN),
  };
  const asked = probes(own);
  const answers: Answers['answers'] = [];
  const given = new Map<string, string>();
  for (const probe of asked) {
    const request = () => ask(server, key, probe, own, given);
    if (!takesPart(server.name, probe.of)) answers.push(undefined);
    else answers.push(await (probe.around ? probe.around(database, request) : request()));
  }
  return { server, asked, answers, traces: await database.tracesOf(server.name) };
}

/** @param given the last answer under each key, to see whether another is the same to the byte */
async function ask(
  server: RunningServer,
  key: string,
  probe: Probe,
  own: Own,
  given: Map<string, string>,
): Promise<Answer> {
  const { of, method, path, body, headers } = probe;
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
  const id = response.headers.get('x-request-id') ?? 'none';
  const named = (keepsPromises(of) ? [...HEADERS, ...PROMISED] : HEADERS).map((name) => [
    name,
    response.ok && withoutNews(response.headers.get(name), server.url),
  ]);
  return {
    status: response.status,
    headers: {
      ...Object.fromEntries(named),
      'x-request-id': id.replace(server.name, 'the server').replace(UUID, 'a new UUID'),
      ...(keepsPromises(of) && response.ok && promises(response, text, headers?.['Idempotency-Key'], given)),
    },
    body: comparable(parseJson(text), method !== undefined, own),
  };
}

/** Whether the tag of an answer is that of its body, and whether the answer is that of before under its key. */
function promises(response: Response, text: string, key = '', given: Map<string, string>) {
  const etag = response.headers.get('etag');
  const whole = [response.status, response.headers.get('location'), etag, text].join(' ');
  const isSame = given.get(key) === whole;
  if (key && !isSame) given.set(key, whole);
  return { etag: etag && (etag === entityTag(text) ? 'of the body' : etag), 'the same': isSame };
}

/** What one has left behind and another has not. */
function without({ traces }: Answers, other: Answers): object[] {
  return traces.filter((trace) => !other.traces.some((one) => isDeepStrictEqual(one, trace)));
}

function difference({ server }: Answers, what: string, one: unknown, other: unknown): string {
  return `${SERVERS[server.name].title}, ${what}\n  ${show(one)}\n  ${show(other)}`;
}

/** A header without the server's address, new ids and what a cursor holds, which each server knows for itself. */
function withoutNews(header: string | null, url: string): string | null {
  return (
    header
      ?.replaceAll(url, '')
      .replace(UUID, 'a UUID')
      .replace(/(?<=[?&]cursor=)[\w-]+/, 'a cursor')
      .replace(/\/\d+$/, '/an id') ?? null
  );
}

/** A body in which values that must differ are replaced by their form; each server words its errors itself. */
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

/** Which of a server's own animals it is. */
function animalOf(id: unknown, { pets, orders }: Own): unknown {
  const ofOrder = Number(id) - orders.firstPet;
  const free = Number(id) - pets.first;
  if (ofOrder >= 0 && ofOrder < OWN) return `that of order ${ofOrder}`;
  return free >= 0 && free < OWN ? `animal ${free}` : id;
}

function describe({ method = 'GET', path, body = '' }: Probe): string {
  return `${method} ${path} ${(typeof body === 'string' ? body : JSON.stringify(body)).slice(0, 80)}`;
}

function show(answer: unknown): string {
  const text = JSON.stringify(answer, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value));
  return text.slice(0, 400);
}
