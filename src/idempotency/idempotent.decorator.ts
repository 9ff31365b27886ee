import { createHash } from 'node:crypto';
import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  UseInterceptors,
} from '@nestjs/common';
import { ApiExtension, ApiHeader } from '@nestjs/swagger';
import type { Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import type { AuthenticatedRequest } from '../auth/auth.guard.js';
import { ApiError } from '../common/api-error.js';
import { MARKS } from '../common/operation.js';
import { IdempotencyService, type StoredAnswer } from './idempotency.service.js';

const HEADER = 'Idempotency-Key';
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

@Injectable()
class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly idempotency: IdempotencyService) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<AuthenticatedRequest>();
    const keys = request.headersDistinct[HEADER.toLowerCase()];
    return keys ? from(this.answer(keys, request, http.getResponse<Response>(), next)) : next.handle();
  }

  private async answer(keys: string[], request: AuthenticatedRequest, response: Response, next: CallHandler) {
    const [key = ''] = keys;
    if (keys.length > 1 || !VISIBLE.test(key)) {
      throw new ApiError('validation_failed', `${HEADER} must be 1 to 255 visible ASCII characters.`);
    }
    const { accountId } = request;
    const write = async (): Promise<StoredAnswer> => {
      const body = JSON.stringify(await lastValueFrom(next.handle()));
      return { body, location: (response.getHeader('Location') as string | undefined) ?? null };
    };
    const answer = await this.idempotency.once({ accountId, key, requestHash: hash(request) }, write);
    if (answer.location) response.setHeader('Location', answer.location);
    if (answer.replayed) response.setHeader('Idempotency-Replayed', 'true');
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    return answer.body;
  }
}

/** What makes two requests the same: their method, path and body, byte for byte. Version 1 has two addresses for some. */
function hash({ method, path, rawBody }: AuthenticatedRequest & { rawBody?: Buffer }): Buffer {
  const address = path.replace(/\/+$/, '').replace(/^\/v1(?=\/)/, '');
  return createHash('sha256')
    .update(`${method} ${address}\n`)
    .update(rawBody ?? '')
    .digest();
}

/**
 * Lets a client retry a write safely: with the header `Idempotency-Key` it happens once for each key and account
 * within a day, and its first answer is given again byte for byte (draft-ietf-httpapi-idempotency-key-header).
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    UseInterceptors(IdempotencyInterceptor),
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
