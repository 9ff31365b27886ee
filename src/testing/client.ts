import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Exchange, checkAgainstDocument, type Placed, typeOf } from './document.js';
import { query, type TestedService } from './service.js';

/** Milliseconds until an error is in the log, which the service writes ten times a second. */
const LOGGED_WITHIN_MS = 500;
/** A response with a longer pause counts as complete. */
const PAUSE_MS = 2_000;

export interface CallOptions {
  /** API key, sent as bearer. */
  key?: string;
  /** Email and password, sent as Basic. */
  account?: Credentials;
  /** A form; a string or bytes, sent as is; or any other value, sent as JSON. All but forms are declared as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
}

export interface Credentials {
  email: string;
  password: string;
}

/**
 * A response. `body` is its JSON; for a 500, `body.logged` is the error that the service logged, so that the
 * failure explains itself. `text` is for digits that a double cannot hold, `bytes` for binary bodies. The
 * body of an event stream is not read, as it has no end.
 */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  bytes: Uint8Array;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads expected properties, and fails without them
  body: any;
}

/** Sends a request. Every response is checked against the OpenAPI document, and fails the test if it differs. */
export async function call(
  service: TestedService,
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer> {
  const { body } = options;
  const isForm = body instanceof FormData;
  const asIs = body === undefined || typeof body === 'string' || body instanceof Uint8Array || isForm;
  const authorization = authorizationOf(options);
  const headers = {
    ...(authorization && { Authorization: authorization }),
    ...(body !== undefined && !isForm && { 'Content-Type': 'application/json' }),
    ...options.headers,
  };
  const sent = asIs ? (body as string | undefined) : JSON.stringify(body);
  const response = await fetch(service.url + path, { method, headers, body: sent, redirect: 'manual' });
  const bytes = await bytesOf(response);
  const { status, headers: responseHeaders } = response;
  const answer = examine(
    { method, path, status, headers: responseHeaders, text: new TextDecoder().decode(bytes) },
    bytes,
  );
  if (answer.status === 500) answer.body.logged = await loggedFor(service, answer);
  return answer;
}

/** The `Authorization` header for credentials, if any. */
export function authorizationOf({ key, account }: CallOptions): string | undefined {
  if (account) return `Basic ${Buffer.from(`${account.email}:${account.password}`).toString('base64')}`;
  return key ? `Bearer ${key}` : undefined;
}

async function bytesOf(response: Response): Promise<Uint8Array> {
  if (typeOf(response.headers) !== 'text/event-stream') return response.bytes();
  await response.body?.cancel();
  return new Uint8Array();
}

/** The logged error of a request, which may appear a moment after the answer. */
async function loggedFor(service: TestedService, { headers }: Answer): Promise<string | undefined> {
  const isOfRequest = (line: string) =>
    line.includes('"level":"error"') && line.includes(headers.get('x-request-id')!);
  for (const deadline = Date.now() + LOGGED_WITHIN_MS; Date.now() < deadline; await sleep(20)) {
    const line = service.output().split('\n').findLast(isOfRequest);
    if (line) return JSON.parse(line).msg;
  }
  return undefined;
}

/** Sends bytes over a socket, and reads the response until it is complete, the server closes, or a pause is too long. */
export async function send(
  service: TestedService,
  bytes: string | Buffer,
  { method = 'GET', path = '/' } = {},
): Promise<Answer> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const chunks: Buffer[] = [];
  socket.on('error', () => {});
  socket.write(bytes);
  await new Promise<void>((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      clearTimeout(timer);
      if (isComplete(Buffer.concat(chunks).toString('latin1'))) socket.destroy();
      else timer = setTimeout(() => socket.destroy(), PAUSE_MS);
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
  const response = parseResponse(Buffer.concat(chunks).toString('latin1'));
  return examine({ method, path, ...response }, Buffer.from(response.text));
}

/** Whether a response is complete; a response to HEAD is complete at the end of its headers. */
function isComplete(raw: string): boolean {
  const [, head, body] = /^(.*?)\r\n\r\n(.*)$/s.exec(raw) ?? [];
  return body !== undefined && body.length >= Number(/^content-length: (\d+)/im.exec(head!)?.[1] ?? Infinity);
}

function parseResponse(raw: string): { status: number; headers: Headers; text: string } {
  const end = raw.indexOf('\r\n\r\n');
  const [first = '', ...lines] = raw.slice(0, end).split('\r\n');
  const headers = new Headers(lines.map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]));
  return {
    status: Number(first.split(' ')[1]),
    headers,
    text: Buffer.from(raw.slice(end + 4), 'latin1').toString(),
  };
}

function examine(exchange: Exchange, bytes: Uint8Array): Answer {
  checkAgainstDocument(exchange);
  const { status, headers, text } = exchange;
  const isJson = typeOf(headers) === 'application/json';
  return { status, headers, text, bytes, body: isJson && text ? JSON.parse(text) : undefined };
}

const PASSWORD = 'correct horse battery';
/** A hash of the password at the lowest cost; the service reads the cost from the hash. */
const CHEAP_HASH =
  '$argon2id$v=19$m=8,t=1,p=1$c2FsdCBvZiBhbGwgdGVzdA$V+UInyyx6eauGex6HFuu9aFOK3FmuDJDc/iuqLZ3Rys';

const newEmail = () => `${randomBytes(6).toString('hex')}@example.com`;

/** Creates a resource for a test; retries while the service answers 503 on a busy machine. */
async function make(service: TestedService, path: string, options: CallOptions): Promise<Answer> {
  for (;;) {
    const answer = await call(service, 'POST', path, options);
    if (answer.status === 201) return answer;
    if (answer.status !== 503) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
    await sleep(Number(answer.headers.get('retry-after')) * 1_000);
  }
}

/** An account that no other test uses. */
export async function createAccount(service: TestedService): Promise<Credentials & { id: number }> {
  const credentials = { email: newEmail(), password: PASSWORD };
  const { body } = await make(service, '/v1/accounts', { body: credentials });
  return { ...credentials, id: body.id };
}

/** An account that no other test uses. Its hash is cheap: a hash by the service takes 40 ms of CPU time. */
export async function createCheapAccount({
  databaseUrl,
}: TestedService): Promise<Credentials & { id: number }> {
  const email = newEmail();
  const sql = 'INSERT INTO accounts (email, password_hash) VALUES ($1, $2) RETURNING id';
  const [made] = await query<{ id: string }>(databaseUrl, sql, [email, CHEAP_HASH]);
  return { email, password: PASSWORD, id: Number(made!.id) };
}

/** A key of a new account. */
export async function createKey(service: TestedService, account?: Credentials): Promise<string> {
  const owner = account ?? (await createAccount(service));
  return (await make(service, '/v1/api-keys', { account: owner, body: { name: 'test' } })).body.key;
}

/** The credentials that an operation requires. */
export function credentialsFor({ operation }: Placed, { account, key }: CallOptions): CallOptions {
  const scheme = Object.keys(operation.security[0] ?? {})[0];
  if (scheme === 'basicAuth') return { account };
  return scheme ? { key } : {};
}

/** Expects exactly the Error shape with this status and code, and returns its message. */
export function expectError(answer: Answer, status: number, code: string): string {
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json\b/);
  if (status === 500) delete answer.body?.logged;
  const { message } = answer.body;
  assert.deepEqual(answer.body, { code, message: String(message), status });
  assert.equal(answer.status, status);
  assert(answer.headers.get('x-request-id'));
  // The guide on errors has no anchors for Nest's own codes.
  assert.match(answer.headers.get('link') ?? '', new RegExp(`/guides/errors(#${code})?>; rel="help"$`));
  return answer.body.message;
}

/** A timestamp as every answer writes it: ISO 8601, UTC, with milliseconds and `Z`. */
export const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
