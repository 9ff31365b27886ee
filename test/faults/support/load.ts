import { randomUUID } from 'node:crypto';
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Clients } from './clients.js';

/** A request and its outcome. Times come from `performance.now()`. */
export interface Outcome {
  method: string;
  path: string;
  /** A text that no other request has sent. */
  text: string;
  idempotencyKey?: string;
  begun: number;
  ended: number;
  /** 0 if no complete answer came. */
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  /** Why no complete answer came, and whether part of it had. */
  failure?: string;
}

export interface Call {
  method?: string;
  path: string;
  key?: string;
  text?: string;
  idempotencyKey?: string;
  body?: unknown;
}

/** Longer than any answer may take: a request without an answer by then hangs. */
const HANG_MS = 12_000;
/** Milliseconds until a refused client sends its next request. */
const PAUSE_MS = 20;

export function exchange(url: string, call: Call, agent: Agent): Promise<Outcome> {
  const { method = 'GET', path, key, text = '', idempotencyKey, body } = call;
  const bytes = body === undefined ? undefined : JSON.stringify(body);
  const asked = { method, path, text, idempotencyKey, begun: performance.now() };
  return new Promise((resolve) => {
    const finish = (status: number, headers: IncomingHttpHeaders, received: string, failure?: string) =>
      resolve({ ...asked, ended: performance.now(), status, headers, body: received, failure });
    const headers = {
      ...(key && { Authorization: `Bearer ${key}` }),
      ...(idempotencyKey && { 'Idempotency-Key': idempotencyKey }),
      ...(bytes && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(bytes) }),
    };
    const sent = request(url + path, { method, agent, headers, timeout: HANG_MS }, (response) => {
      let received = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
      response.on('error', (error) => finish(0, response.headers, received, `cut: ${error.message}`));
      response.on('end', () => finish(response.statusCode!, response.headers, received));
    });
    sent.on('timeout', () => sent.destroy(new Error('hangs')));
    sent.on('error', (error: NodeJS.ErrnoException) => finish(0, {}, '', error.code ?? error.message));
    sent.end(bytes);
  });
}

/** Clients that write animals and messages, each one request after another, over persistent connections. */
export class WriteLoad extends Clients {
  readonly outcomes: Outcome[] = [];
  private readonly filler: string;

  constructor(
    private readonly url: string,
    private readonly key: string,
    { clients = 16, filler = '' } = {},
  ) {
    super(clients);
    this.filler = filler;
  }

  get acknowledged(): Outcome[] {
    return this.outcomes.filter(({ status }) => status === 201 || status === 202);
  }

  protected async turn(i: number): Promise<void> {
    const outcome = await exchange(this.url, newWrite(i, this.key, this.filler), this.agent);
    this.outcomes.push(outcome);
    if (outcome.status !== 201 && outcome.status !== 202) await sleep(PAUSE_MS);
  }
}

/** Clients that list animals at several addresses in turn, each one request after another. */
export class ReadLoad extends Clients {
  readonly outcomes: Outcome[] = [];

  constructor(
    private readonly urls: string[],
    private readonly key: string,
    { clients = 16 } = {},
  ) {
    super(clients);
  }

  protected async turn(i: number): Promise<void> {
    const call = { path: `/v1/pets?limit=${(i % 10) + 1}`, key: this.key };
    this.outcomes.push(await exchange(this.urls[i % this.urls.length]!, call, this.agent));
  }
}

/** Animals and messages in turn, with and without an `Idempotency-Key`. */
function newWrite(i: number, key: string, filler: string): Call {
  const text = randomUUID();
  const idempotencyKey = i % 4 < 2 ? text : undefined;
  return writeOf({ path: i % 2 ? '/v1/pets' : '/v1/messages', text, idempotencyKey }, key, filler);
}

export function writeOf({ path, text, idempotencyKey }: Call, key: string, filler = ''): Call {
  const body =
    path === '/v1/pets'
      ? { name: text, categoryId: 1, status: 'available' }
      : { message: `${text}${filler}` };
  return { method: 'POST', path, key, text, idempotencyKey, body };
}
