import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../src/platform/server/json.js';
import type { Database } from './database.js';
import { type Probe, probes } from './probes.js';
import { type RunningServer, SERVERS } from './servers.js';

/** Headers that every server must send identically with a success. */
const HEADERS = ['link', 'location', 'deprecation', 'sunset'];
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface Answer {
  status: number;
  headers: Record<string, string | false>;
  body: unknown;
}

/**
 * Sends the same requests to every server, and compares status, body and headers, except for new ids and times.
 * @throws Error that lists every answer that differs from the first server's
 */
export async function requireEqualAnswers(
  servers: RunningServer[],
  key: string,
  database: Database,
): Promise<number> {
  const available = await database.addAvailablePets(servers.length);
  const [first, ...others] = await Promise.all(
    servers.map(async (server, i) => {
      const asked = probes(available + i);
      const answers: Answer[] = [];
      for (const probe of asked) answers.push(await ask(server, key, probe, String(available + i)));
      return { server, asked, answers };
    }),
  );
  const differences = others.flatMap(({ server, asked, answers }) =>
    answers.flatMap((answer, i) =>
      isDeepStrictEqual(answer, first!.answers[i])
        ? []
        : [
            `${SERVERS[server.name].title}, ${describe(asked[i]!)}\n  ${show(answer)}\n  ${show(first!.answers[i]!)}`,
          ],
    ),
  );
  if (differences.length > 0) {
    throw new Error(
      `The servers do not do the same work; their answers first, then the service's:\n${differences.join('\n')}`,
    );
  }
  return first!.answers.length;
}

async function ask(server: RunningServer, key: string, probe: Probe, available: string): Promise<Answer> {
  const { method, path, body, headers } = probe;
  const response = await fetch(server.url + path, {
    method,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    body: typeof body === 'string' || body === undefined ? body : JSON.stringify(body),
  });
  const json = parseJson(await response.text());
  const id = response.headers.get('x-request-id') ?? 'none';
  const named = HEADERS.map((name) => [
    name,
    response.ok && withoutNews(response.headers.get(name), server.url),
  ]);
  return {
    status: response.status,
    headers: { ...Object.fromEntries(named), 'x-request-id': id.replace(UUID, 'a new UUID') },
    body: comparable(json, method === 'POST', available),
  };
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
function comparable(body: unknown, isNew: boolean, available: string): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const entries = Object.entries(body).map(([name, value]) => {
    if (name === 'id' && isNew)
      return [name, typeof value === 'string' ? value.replace(UUID, 'a UUID') : typeof value];
    if (name === 'petId' && String(value) === available) return [name, 'the animal'];
    if (name.endsWith('At') && TIME.test(String(value))) return [name, 'a time'];
    if (name === 'message' && 'code' in body) return [name, typeof value];
    return [name, value];
  });
  return Object.fromEntries(entries);
}

function describe({ method = 'GET', path, body = '' }: Probe): string {
  return `${method} ${path} ${(typeof body === 'string' ? body : JSON.stringify(body)).slice(0, 80)}`;
}

function show(answer: Answer): string {
  const text = JSON.stringify(answer, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value));
  return text.slice(0, 400);
}
