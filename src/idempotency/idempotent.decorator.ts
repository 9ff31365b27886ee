import { createHash } from 'node:crypto';
import {
  applyDecorators,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  UseGuards,
} from '@nestjs/common';
import { ApiExtension, ApiHeader } from '@nestjs/swagger';
import type { Response } from 'express';
import type { AuthenticatedRequest } from '../auth/auth.guard.js';
import { ApiError } from '../common/api-error.js';
import { MARKS } from '../common/operation.js';
import { JsonText } from '../common/serializer.js';
import { wrapMethod } from '../common/wrap-method.js';
import { type GivenAnswer, IdempotencyService, type StoredAnswer } from './idempotency.service.js';

const HEADER = 'Idempotency-Key';
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

/** What a request with the header brings to the method: a way to have its write done once. */
type Once = (write: () => Promise<StoredAnswer>) => Promise<GivenAnswer>;
interface KeyedRequest extends AuthenticatedRequest {
  runOnce?: Once;
  rawBody?: Buffer;
}

/** Reads the header. */
@Injectable()
class IdempotencyGuard implements CanActivate {
  constructor(private readonly idempotency: IdempotencyService) {}

  canActivate(context: ExecutionContext): true {
    const [request] = context.getArgs<[KeyedRequest]>();
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

/** Gives the method, behind its own parameters, the request and the response. */
const Exchange = createParamDecorator((_data: unknown, context: ExecutionContext) => context.getArgs());

/**
 * Calls the method by way of the guard's `runOnce`. Around the method and not in an interceptor, for which Nest makes an
 * Observable of every call, with the header and without.
 */
const AnsweredOnce: MethodDecorator = (target, name, descriptor: PropertyDescriptor) => {
  const { length } = Reflect.getMetadata('design:paramtypes', target, name) as unknown[];
  Exchange()(target, name, length);
  wrapMethod(descriptor, (call) => async (args) => {
    const [request, response] = args[length] as [KeyedRequest, Response];
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

/** What makes two requests the same: their method, path and body, byte for byte. Version 1 has two addresses for some. */
function hash({ method, path, rawBody }: KeyedRequest): Buffer {
  const address = path.replace(/\/+$/, '').replace(/^\/v1(?=\/)/, '');
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
