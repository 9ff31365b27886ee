import { createHash } from 'node:crypto';
import {
  applyDecorators,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type RawBodyRequest,
  UseGuards,
} from '@nestjs/common';
import { ApiExtension, ApiHeader } from '@nestjs/swagger';
import type { Response } from 'express';
import type { AuthenticatedRequest } from '../../api/caller.js';
import { ApiError } from '../../api/api-error.js';
import { MARKS } from '../../api/operation.js';
import { JsonText } from '../../api/serializer.js';
import { isLaterVersion, withoutVersion } from '../../api/versions.js';
import { wrapMethod } from '../../api/wrap-method.js';
import { type GivenAnswer, IdempotencyService, type StoredAnswer } from './idempotency.service.js';

const HEADER = 'Idempotency-Key';
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

/** What the guard gives a request with the header: carries out its write once. */
type Once = (write: () => Promise<StoredAnswer>) => Promise<GivenAnswer>;
type IdempotentRequest = RawBodyRequest<AuthenticatedRequest> & { runOnce?: Once };

/** Reads the header. */
@Injectable()
class IdempotencyGuard implements CanActivate {
  constructor(private readonly idempotency: IdempotencyService) {}

  canActivate(context: ExecutionContext): true {
    const [request] = context.getArgs<[IdempotentRequest]>();
    if (request.headers[HEADER.toLowerCase()] === undefined) return true;
    const [key = '', ...others] = request.headersDistinct[HEADER.toLowerCase()] ?? [];
    if (others.length > 0 || !VISIBLE.test(key)) {
      throw new ApiError('validation_failed', `${HEADER} must be 1 to 255 visible ASCII characters.`);
    }
    const { accountId } = request;
    request.runOnce = (write) => this.idempotency.once({ accountId, key, requestHash: hash(request) }, write);
    return true;
  }
}

/** Gives the method the request and the response, as one parameter behind its own. */
const RequestAndResponse = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  context.getArgs(),
);

/**
 * Calls the method through the guard's `runOnce`. It wraps the method instead of being an interceptor, because Nest would
 * then make an Observable of every call, also of those without the header.
 */
const AnsweredOnce: MethodDecorator = (target, name, descriptor: PropertyDescriptor) => {
  const { length } = Reflect.getMetadata('design:paramtypes', target, name) as unknown[];
  RequestAndResponse()(target, name, length);
  wrapMethod(descriptor, (call) => async (args) => {
    const [request, response] = args[length] as [IdempotentRequest, Response];
    if (!request.runOnce) return call(args);
    const answer = await request.runOnce(async () => {
      const { text } = (await call(args)) as JsonText;
      return { body: text, location: (response.getHeader('Location') as string | undefined) ?? null };
    });
    if (answer.location) response.setHeader('Location', answer.location);
    if (answer.replayed) response.setHeader('Idempotency-Replayed', 'true');
    return new JsonText(answer.body);
  });
};

/**
 * What makes two requests the same: their method, path and body, byte for byte. `/v1/messages` and `/messages` are one
 * path.
 */
function hash({ method, path, rawBody }: IdempotentRequest): Buffer {
  const exact = path.replace(/\/+$/, '');
  const address = isLaterVersion(exact) ? exact : withoutVersion(exact);
  return createHash('sha256')
    .update(`${method} ${address}\n`)
    .update(rawBody ?? '')
    .digest();
}

/**
 * Lets a client retry a write safely: with the header `Idempotency-Key` it happens once for each key and account
 * within a day, and its first answer is given again byte for byte (draft-ietf-httpapi-idempotency-key-header). It
 * stands above `@Operation`, whose written answer it stores.
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    AnsweredOnce,
    UseGuards(IdempotencyGuard),
    ApiHeader({
      name: HEADER,
      description:
        'Makes a retry safe: under one key, the request is carried out once, and its first answer repeated for 24 hours.',
      required: false,
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    }),
    ApiExtension(MARKS.idempotent, true),
  );
}
