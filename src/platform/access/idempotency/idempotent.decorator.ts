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
import { ApiHeader } from '@nestjs/swagger';
import type { Response } from 'express';
import type { AuthenticatedRequest } from '../../api/caller.js';
import { ApiError } from '../../api/api-error.js';
import { Declare } from '../../api/operation-facts.js';
import { JsonText } from '../../api/serializer.js';
import { isLaterVersion, withoutVersion } from '../../api/versions.js';
import { IdempotencyService, LIFETIME_HOURS } from './idempotency.service.js';
import { answerToStore, give } from './stored-answer.js';

const HEADER = 'Idempotency-Key';
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

type Method = () => unknown;
/** Carries out the write of a request with the header once, and resolves to its answer as it is sent. */
type Once = (method: Method) => Promise<JsonText | undefined>;
type IdempotentRequest = RawBodyRequest<AuthenticatedRequest> & { runOnce?: Once };

/** Reads the header. */
@Injectable()
class IdempotencyGuard implements CanActivate {
  constructor(private readonly idempotency: IdempotencyService) {}

  canActivate(context: ExecutionContext): true {
    const [request, response] = context.getArgs<[IdempotentRequest, Response]>();
    // Keys are an account's own, and an open operation has none.
    if (request.headers[HEADER.toLowerCase()] === undefined || request.operation.access === 'public')
      return true;
    const [key = '', ...others] = request.headersDistinct[HEADER.toLowerCase()] ?? [];
    if (others.length > 0 || !VISIBLE.test(key)) {
      throw new ApiError('validation_failed', `${HEADER} must be 1 to 255 visible ASCII characters.`);
    }
    const { accountId, operation } = request;
    const keyed = { accountId, key, requestHash: hash(request) };
    request.runOnce = async (method) =>
      give(
        await this.idempotency.once(keyed, async () => answerToStore(operation, await method(), response)),
        response,
      );
    return true;
  }
}

/** Gives the method what the guard has made of the header, as one parameter behind its own. */
const OnceOf = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    context.switchToHttp().getRequest<IdempotentRequest>().runOnce,
);

/**
 * Calls the method through the guard's `runOnce`, if there is one: other callers have none. It wraps the method instead of
 * being an interceptor, because Nest would then make an Observable of every call, also of those without the header.
 */
const AnsweredOnce: MethodDecorator = (target, name, descriptor: PropertyDescriptor) => {
  const method = descriptor.value as (...args: unknown[]) => unknown;
  const { length } = Reflect.getMetadata('design:paramtypes', target, name) as unknown[];
  OnceOf()(target, name, length);
  const wrapped = function (this: unknown, ...args: unknown[]): unknown {
    const [once] = args.splice(length) as [Once?];
    const run = () => method.apply(this, args);
    return once ? once(run) : run();
  };
  // Decorators below have left theirs on the method; those above find the wrapper.
  for (const key of Reflect.getMetadataKeys(method)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, method), wrapped);
  }
  descriptor.value = Object.defineProperty(wrapped, 'name', { value: method.name });
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
 * within `LIFETIME_HOURS`, and its first answer is given again byte for byte (draft-ietf-httpapi-idempotency-key-header),
 * whatever its method and its status. It may stand anywhere among the decorators. With the header, interceptors see the
 * answer as it is stored.
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    AnsweredOnce,
    UseGuards(IdempotencyGuard),
    ApiHeader({
      name: HEADER,
      description: `Makes a retry safe: under one key, the request is carried out once, and its first answer repeated for ${LIFETIME_HOURS} hours ([guide](/guides/idempotency)).`,
      required: false,
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    }),
    Declare({ idempotent: true }),
  );
}
