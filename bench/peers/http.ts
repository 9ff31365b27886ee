import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { ApiError } from '../../src/platform/api/api-error.js';
import { parseJson } from '../../src/platform/server/json.js';
import { parseQuery } from '../../src/platform/server/query.js';
import { logRequest } from './log.js';
import {
  announce,
  authenticate,
  DEPRECATION,
  linkToNext,
  locate,
  nameRequest,
  readListQuery,
  readNewMessage,
  readNewOrder,
  readNewPet,
  readPetId,
  toApiError,
} from './shared.js';
import { createPet, getPet, listPets, type Pet, placeOrder, submitMessage } from './statements.js';

const LIMIT_BYTES = 102_400;
const JSON_UTF8 = /^application\/json(?:; ?charset=utf-8)?$/i;
const utf8 = new TextDecoder('utf-8', { fatal: true });

const server = createServer((request, response) => {
  const requestId = nameRequest(request.headers['x-request-id']);
  response.setHeader('X-Request-Id', requestId);
  logRequest(requestId, request, response);
  handle(request, response).catch((error: unknown) => {
    const failure = toApiError(error);
    send(response, failure.status, JSON.stringify(failure), failure.headers);
  });
});
server.listen(0, '127.0.0.1', () => announce(server));

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const accountId = await authenticate(request.headers.authorization);
  const [path = '', search] = request.url!.split('?', 2);
  const { host } = request.headers;
  switch (`${request.method} ${path}`) {
    case 'GET /v1/pets':
      return list(search, host, response);
    case 'POST /v1/pets': {
      const pet = await createPet(readNewPet(await readBody(request)));
      return send(response, 201, writePet(pet), { Location: locate(host, 'pets', pet.id) });
    }
    case 'POST /v1/store/orders': {
      const { id, petId, ...order } = await placeOrder(accountId, readNewOrder(await readBody(request)));
      const json = `{"id":${id},"petId":${petId},${JSON.stringify(order).slice(1)}`;
      return send(response, 201, json, { Location: locate(host, 'store/orders', id) });
    }
    case 'POST /v1/messages': {
      const message = await submitMessage(accountId, readNewMessage(await readBody(request)));
      return send(response, 202, JSON.stringify(message), { Location: locate(host, 'messages', message.id) });
    }
    default:
      if (request.method !== 'GET' || !path.startsWith('/v1/pets/')) throw new ApiError('route_not_found');
      return getOne(path.slice('/v1/pets/'.length), response);
  }
}

async function list(search: string | undefined, host: string | undefined, response: ServerResponse) {
  const query = parseQuery(search);
  const { pets, next } = await listPets(readListQuery(query));
  const headers: Record<string, string> = next ? { Link: linkToNext(host, query, next) } : {};
  send(response, 200, `[${pets.map(writePet).join(',')}]`, headers);
}

async function getOne(petId: string, response: ServerResponse) {
  for (const [name, value] of Object.entries(DEPRECATION)) response.setHeader(name, value);
  send(response, 200, writePet(await getPet(readPetId(petId))));
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  if (!JSON_UTF8.test(request.headers['content-type'] ?? '')) throw new ApiError('invalid_content_type');
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > LIMIT_BYTES) throw new ApiError('payload_too_large');
  }
  try {
    return parseJson(utf8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
  } catch {
    throw new ApiError('invalid_json');
  }
}

/** The digits of an int64 are written into the JSON as they are. */
function writePet({ id, name, categoryId, status }: Pet): string {
  const end = status ? `,"status":"${status}"}` : '}';
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId}${end}`;
}

function send(response: ServerResponse, status: number, json: string, headers: Record<string, string> = {}) {
  response.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(json),
    ...headers,
  });
  response.end(json);
}
