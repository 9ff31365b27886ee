import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../../src/platform/api/api-error.js';
import { parseQuery } from '../../src/platform/server/request-target.js';
import { getOne, parseBody, readBytes, send, serve, writePet } from './plain.js';
import {
  authenticate,
  linkToNext,
  locate,
  readListQuery,
  readNewMessage,
  readNewOrder,
  readNewPet,
} from './shared.js';
import { createPet, listPets, placeOrder, submitMessage } from './statements.js';

serve(handle);

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { accountId } = await authenticate(request.headers.authorization);
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

async function readBody(request: IncomingMessage): Promise<unknown> {
  return parseBody(await readBytes(request));
}
