import { isDeepStrictEqual } from 'node:util';
import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  type RawBodyRequest,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Response } from 'express';
import { from, lastValueFrom, type Observable } from 'rxjs';
import {
  addressOf,
  ApiError,
  type AuthenticatedRequest,
  Declare,
  JsonText,
  locate,
  type OperationFacts,
} from '../api/index.js';
import { Insert } from '../data/index.js';
import { bytesFingerprintOf, fingerprintOf } from './fingerprint.js';
import type { AnswerHead } from './idempotency-key.entity.js';
import {
  type Answer,
  IdempotencyService,
  type KeyedRequest,
  LIFETIME_HOURS,
  type StoredAnswer,
} from './idempotency.service.js';

const HEADER = 'Idempotency-Key';
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

type Keyed = RawBodyRequest<AuthenticatedRequest>;

/**
 * Makes a write with the header happen once. A method that returns an `Insert` sends nothing itself, so its statement gets
 * the key and the answer too. Any other method runs in a transaction that has claimed the key.
 */
@Injectable()
class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly idempotency: IdempotencyService) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const [request, response] = context.getArgs<[Keyed, Response]>();
    const call = () => lastValueFrom(next.handle() as Observable<unknown>, { defaultValue: undefined });
    return from(this.answer(request, response, call, returnsInsert(context)));
  }

  private async answer(
    request: Keyed,
    response: Response,
    call: () => Promise<unknown>,
    isInsert: boolean,
  ): Promise<unknown> {
    const { operation } = request;
    const keyed = keyOf(request);
    const [{ located } = { located: false }] = operation.successes;
    const base = located ? `${addressOf(request)}/` : null;
    const made = <Row>(row: Row): Row => {
      locate(request, response, row);
      return row;
    };
    const write = async () => {
      const value = await call();
      return made(value instanceof Insert ? await value.run() : value);
    };
    if (!keyed) return write();
    const before = { ...response.getHeaders() };
    const head = () => ({ status: response.statusCode, headers: headersSince(before, response) });
    if (isInsert) {
      const insert = await call();
      if (!(insert instanceof Insert)) throw new Error(`${operation.id} has not returned its Insert`);
      const outcome = await this.idempotency.insert(keyed, insert, head(), base);
      return 'value' in outcome ? made(outcome.value) : replay(outcome.stored, response);
    }
    const outcome = await this.idempotency.transaction(keyed, write, (value): Answer => ({
      ...head(),
      body: textOf(operation, value),
    }));
    return 'value' in outcome ? outcome.value : replay(outcome.stored, response);
  }
}

/** Whether a method declares that it returns an `Insert`, by the metadata of TypeScript. */
function returnsInsert(context: ExecutionContext): boolean {
  const { prototype } = context.getClass() as { prototype: object };
  return Reflect.getMetadata('design:returntype', prototype, context.getHandler().name) === Insert;
}

/** The key of a request, with the facts of the request; undefined if it has none. @throws ApiError `validation_failed` */
function keyOf(request: Keyed): KeyedRequest | undefined {
  const { accountId, headers, operation } = request;
  const key = headers[HEADER.toLowerCase()];
  // A key belongs to an account, and a public operation has none.
  if (key === undefined || operation.access === 'public') return undefined;
  // Node joins the values of a repeated header by a comma and a blank.
  if (typeof key !== 'string' || !VISIBLE.test(key))
    throw new ApiError('validation_failed', `${HEADER} must be 1 to 255 visible ASCII characters.`);
  const olderFingerprint = () => bytesFingerprintOf(request);
  return { accountId, key, fingerprint: fingerprintOf(request), olderFingerprint };
}

function headersSince(before: object, response: Response): AnswerHead['headers'] {
  const earlier = before as Record<string, unknown>;
  const set = Object.entries(response.getHeaders()).filter(
    ([name, content]) => content !== undefined && !isDeepStrictEqual(content, earlier[name]),
  );
  return Object.fromEntries(set) as AnswerHead['headers'];
}

/** Sets the status and headers of a stored answer; returns its row or body. */
function replay({ status, headers, body, row }: StoredAnswer, response: Response): unknown {
  if (status !== undefined) response.statusCode = status;
  for (const [name, content] of Object.entries(headers)) response.setHeader(name, content);
  response.setHeader('Idempotency-Replayed', 'true');
  if (row) return row;
  return body === '' ? undefined : new JsonText(body!);
}

/** The body of an answer. @throws Error for an answer that is not JSON, and could not be repeated byte for byte */
function textOf({ id, serialize }: OperationFacts, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (value instanceof JsonText) return value.text;
  const isBinary = value instanceof StreamableFile || value instanceof Uint8Array;
  if (typeof value !== 'object' || isBinary) {
    const kind = isBinary ? value.constructor.name : typeof value;
    throw new Error(`${id} is idempotent, and returns a ${kind} instead of an object`);
  }
  return serialize ? serialize(value).text : JSON.stringify(value);
}

/**
 * Lets a client retry a write safely: with the header `Idempotency-Key`, each key of an account is carried out once within
 * `LIFETIME_HOURS`, and its first answer repeated byte for byte (draft-ietf-httpapi-idempotency-key-header), whatever its
 * method and status. A method that returns an `Insert` is one statement; any other runs in a transaction, which is the open
 * one for all calls inside. Interceptors inside this one shape the stored answer; they do not run for a repeated answer.
 * With or without the header, this decorator runs an `Insert`, and the row is the answer.
 */
export function Idempotent(): MethodDecorator {
  return applyDecorators(
    UseInterceptors(IdempotencyInterceptor),
    ApiHeader({
      name: HEADER,
      description: `Makes a retry safe: under one key, the request is carried out once, and its first answer repeated for ${LIFETIME_HOURS} hours ([guide](/guides/idempotency)).`,
      required: false,
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    }),
    Declare({ idempotent: true }),
  );
}
