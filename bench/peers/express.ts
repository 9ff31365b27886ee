import express, { type NextFunction, type Request, type Response } from 'express';
import { ApiError } from '../../src/platform/api/api-error.js';
import { logRequest } from './log.js';
import { int64 } from './raw-json.js';
import { reviveInt64 } from './revive.js';
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
  requireBody,
  toApiError,
} from './shared.js';
import { createPet, getPet, listPets, type Pet, placeOrder, submitMessage } from './statements.js';

const app = express();
app.disable('x-powered-by');
// The service sends no ETag either.
app.disable('etag');

app.use((request, response, next) => {
  const requestId = nameRequest(request.get('x-request-id'));
  response.set('X-Request-Id', requestId);
  logRequest(requestId, request, response);
  next();
});
app.use(async (request, response, next) => {
  const { accountId } = await authenticate(request.get('authorization'));
  response.locals.accountId = accountId;
  next();
});
const json = [express.json({ limit: '100kb', reviver: reviveInt64 }), requireBody];

app.get('/v1/pets', async (request, response) => {
  const { pets, next } = await listPets(readListQuery(request.query));
  if (next) response.set('Link', linkToNext(request.get('host'), request.query, next));
  response.json(pets.map(toJson));
});

app.post('/v1/pets', json, async (request: Request, response: Response) => {
  const pet = await createPet(readNewPet(request.body));
  response
    .status(201)
    .set('Location', locate(request.get('host'), 'pets', pet.id))
    .json(toJson(pet));
});

app.get('/v1/pets/:petId', async (request, response) => {
  response.set(DEPRECATION);
  response.json(toJson(await getPet(readPetId(request.params.petId))));
});

app.post('/v1/store/orders', json, async (request: Request, response: Response) => {
  const order = await placeOrder(response.locals.accountId, readNewOrder(request.body));
  response.status(201).set('Location', locate(request.get('host'), 'store/orders', order.id));
  response.json({ ...order, id: int64(order.id), petId: int64(order.petId) });
});

app.post('/v1/messages', json, async (request: Request, response: Response) => {
  const message = await submitMessage(response.locals.accountId, readNewMessage(request.body));
  response
    .status(202)
    .set('Location', locate(request.get('host'), 'messages', message.id))
    .json(message);
});

app.use(() => {
  throw new ApiError('route_not_found');
});

app.use((error: Error, _request: Request, response: Response, _next: NextFunction) => {
  const failure = toApiError(error);
  response.status(failure.status).set(failure.headers).json(failure);
});

const server = app.listen(0, '127.0.0.1', () => announce(server));

function toJson({ id, name, categoryId, status }: Pet) {
  return { id: int64(id), name, categoryId: int64(categoryId), status: status ?? undefined };
}
