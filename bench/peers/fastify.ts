import Fastify, { type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify';
import { ApiError, type ErrorCode } from '../../src/platform/api/api-error.js';
import { int64FromJson, isPlainText, parseJson } from '../../src/platform/api/formats.js';
import * as schema from './fastify-schemas.js';
import { logRequest } from './log.js';
import {
  announce,
  authenticate,
  DEPRECATION,
  linkToNext,
  locate,
  nameRequest,
  readCursor,
  readPetId,
  toApiError,
} from './shared.js';
import {
  createPet,
  getPet,
  listPets,
  type NewPet,
  type Pet,
  placeOrder,
  submitMessage,
} from './statements.js';

const CODES: Record<string, ErrorCode> = {
  FST_ERR_VALIDATION: 'validation_failed',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'invalid_content_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
};

const app: FastifyInstance = Fastify({
  bodyLimit: 102_400,
  genReqId: (request) => nameRequest(request.headers['x-request-id']),
  ajv: {
    customOptions: {
      coerceTypes: false,
      keywords: [
        { keyword: 'int64', validate: (_on: true, value: unknown) => int64FromJson(value) !== undefined },
        { keyword: 'plainText', validate: (_on: true, value: unknown) => isPlainText(value) },
      ],
    },
  },
});

app.decorateRequest('accountId', '');
app.addHook('onRequest', async (request, reply) => {
  reply.header('X-Request-Id', request.id);
  logRequest(request.id, request.raw, reply.raw);
  const { accountId } = await authenticate(request.headers.authorization);
  (request as FastifyRequest & { accountId: string }).accountId = accountId;
});

app.removeContentTypeParser('text/plain');
app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
  try {
    done(null, parseJson(text as string));
  } catch {
    done(new ApiError('invalid_json'));
  }
});

app.setErrorHandler((error: FastifyError, _request, reply) => {
  const code = CODES[error.code];
  const failure = code ? new ApiError(code, error.message) : toApiError(error);
  reply.code(failure.status).headers(failure.headers).send(failure.toJSON());
});
app.setNotFoundHandler(() => {
  throw new ApiError('route_not_found');
});

app.get<{ Querystring: Record<string, string> }>(
  '/v1/pets',
  { schema: schema.listPets },
  async (request, reply) => {
    const { limit = '20', status, cursor } = request.query;
    const after = cursor === undefined ? '0' : readCursor(cursor);
    const { pets, next } = await listPets({ limit: Number(limit), status, after });
    if (next) reply.header('Link', linkToNext(request.headers.host, request.query, next));
    return pets.map(toJson);
  },
);

app.post<{ Body: Omit<NewPet, 'categoryId'> & { categoryId: number | bigint } }>(
  '/v1/pets',
  { schema: schema.createPet },
  async (request, reply) => {
    const { name, categoryId, status } = request.body;
    const pet = await createPet({ name, categoryId: String(categoryId), status });
    reply.code(201).header('Location', locate(request.headers.host, 'pets', pet.id));
    return toJson(pet);
  },
);

app.get<{ Params: { petId: string } }>(
  '/v1/pets/:petId',
  { schema: schema.getPet },
  async (request, reply) => {
    reply.headers(DEPRECATION);
    return toJson(await getPet(readPetId(request.params.petId)));
  },
);

app.post<{ Body: { petId: unknown } }>(
  '/v1/store/orders',
  { schema: schema.placeOrder },
  async (request, reply) => {
    const order = await placeOrder(accountOf(request), String(request.body.petId));
    reply.code(201).header('Location', locate(request.headers.host, 'store/orders', order.id));
    return { ...order, id: BigInt(order.id), petId: BigInt(order.petId) };
  },
);

app.post<{ Body: { message: string } }>(
  '/v1/messages',
  { schema: schema.submitMessage },
  async (request, reply) => {
    const message = await submitMessage(accountOf(request), request.body.message);
    reply.code(202).header('Location', locate(request.headers.host, 'messages', message.id));
    return message;
  },
);

await app.listen({ port: 0, host: '127.0.0.1' });
announce(app.server);

function accountOf(request: FastifyRequest): string {
  return (request as FastifyRequest & { accountId: string }).accountId;
}

/** fast-json-stringify writes a bigint with all its digits. */
function toJson({ id, name, categoryId, status }: Pet) {
  return { id: BigInt(id), name, categoryId: BigInt(categoryId), status: status ?? undefined };
}
