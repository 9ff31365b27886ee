import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { ApiError } from '../../src/platform/api/api-error.js';
import { parseJson } from '../../src/platform/api/formats.js';
import { logRequest } from './log.js';
import { announce, DEPRECATION, nameRequest, readPetId, toApiError } from './shared.js';
import { getPet, type Pet } from './statements.js';

const LIMIT_BYTES = 102_400;
const JSON_UTF8 = /^application\/json(?:; ?charset=utf-8)?$/i;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Answers a request, or throws what is sent as an error. */
type Handle = (request: IncomingMessage, response: ServerResponse, requestId: string) => Promise<void>;

/** Starts a peer of bare `node:http`. */
export function serve(handle: Handle): void {
  const server = createServer((request, response) => {
    const { socket } = request;
    const requestId = nameRequest(request.headers['x-request-id']);
    response.setHeader('X-Request-Id', requestId);
    logRequest(requestId, request, response);
    handle(request, response, requestId).catch((error: unknown) => {
      // Whoever has gone away gets no answer.
      if (socket.destroyed) return;
      const failure = toApiError(error);
      send(response, failure.status, JSON.stringify(failure), failure.headers);
    });
  });
  server.listen(0, '127.0.0.1', () => announce(server));
}

export async function getOne(petId: string, response: ServerResponse): Promise<void> {
  for (const [name, value] of Object.entries(DEPRECATION)) response.setHeader(name, value);
  send(response, 200, writePet(await getPet(readPetId(petId))));
}

export async function readBytes(request: IncomingMessage): Promise<Buffer> {
  if (!JSON_UTF8.test(request.headers['content-type'] ?? '')) throw new ApiError('invalid_content_type');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > LIMIT_BYTES) throw new ApiError('payload_too_large');
  }
  return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
}

export function parseBody(bytes: Buffer): unknown {
  try {
    return parseJson(utf8.decode(bytes));
  } catch {
    throw new ApiError('invalid_json');
  }
}

/** The digits of an int64 are written into the JSON as they are. */
export function writePet({ id, name, categoryId, status }: Pet): string {
  const end = status ? `,"status":"${status}"}` : '}';
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId}${end}`;
}

export function send(
  response: ServerResponse,
  status: number,
  json: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(json),
    ...headers,
  });
  response.end(json);
}
