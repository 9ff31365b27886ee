import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'pg';
import { destination, pino } from 'pino';
import { ApiError } from '../../src/platform/api/api-error.js';
import { parseJson } from '../../src/platform/api/formats.js';
import { withErrors } from './peers.errors.js';

const LIMIT_BYTES = 102_400;
const JSON_UTF8 = /^application\/json(?:; ?charset=utf-8)?$/i;
const REQUEST_ID = /^[\w.:~+/=-]{1,128}$/;
const utf8 = new TextDecoder('utf-8', { fatal: true });

export const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 10 });

/** Lines of JSON on standard error, written in batches like the service's. */
const log = pino(
  { formatters: { level: (label) => ({ level: label }) } },
  destination({ dest: 2, sync: false, minLength: 8_192, periodicFlush: 100 }),
);

export interface Answer {
  status: number;
  headers?: Record<string, string>;
  /** JSON. */
  body: string;
}

/** Answers a request, or throws the error to send. */
type Handle = (request: IncomingMessage, requestId: string) => Promise<Answer>;

/** Starts a peer on bare `node:http`, which prints its address as the service does. */
export function serve(handle: Handle): void {
  const server = createServer((request, response) => {
    const { socket, headers } = request;
    const given = headers['x-request-id'];
    const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
    response.setHeader('X-Request-Id', requestId);
    logRequest(requestId, request, response);
    void handle(request, requestId)
      .catch(failureOf)
      // The client has disconnected.
      .then((answer) => socket.destroyed || send(response, answer));
  });
  withErrors(() =>
    server.listen(0, '127.0.0.1', () => {
      console.log(`API http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    }),
  );
}

/** The body of a request, as bytes and as parsed JSON. */
export async function readBody(request: IncomingMessage): Promise<{ bytes: Buffer; body: unknown }> {
  if (!JSON_UTF8.test(request.headers['content-type'] ?? '')) throw new ApiError('invalid_content_type');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > LIMIT_BYTES) throw new ApiError('payload_too_large');
  }
  const bytes = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
  try {
    return { bytes, body: parseJson(utf8.decode(bytes)) };
  } catch {
    throw new ApiError('invalid_json');
  }
}

/** Logs a request once its answer has been sent. */
function logRequest(requestId: string, { method, url }: IncomingMessage, response: ServerResponse): void {
  const startedAt = performance.now();
  response.once('finish', () => {
    const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
    log.info({ requestId, method, url, status: response.statusCode, durationMs });
  });
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}

function failureOf(error: unknown): Answer {
  if (error instanceof ApiError)
    return { status: error.getStatus(), headers: error.headers, body: JSON.stringify(error) };
  console.error(error);
  return failureOf(new ApiError('internal_error'));
}
