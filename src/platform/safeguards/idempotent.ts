import { isDeepStrictEqual } from 'node:util';
import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Global,
  Injectable,
  Module,
  type NestInterceptor,
  type RawBodyRequest,
  StreamableFile,
  UseInterceptors,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiHeader } from '@nestjs/swagger';
import type { Express, Response } from 'express';
import type { ObjectLiteral } from 'typeorm';
import { from, lastValueFrom, type Observable } from 'rxjs';
import {
  addressAbove,
  ApiError,
  type AuthenticatedRequest,
  Declare,
  type Deferred,
  finish,
  hasBody,
  JsonText,
  makingDeferred,
  MakesDeferred,
  locate,
  NeedsBy,
  type OperationFacts,
  parseJson,
  readDto,
  requireForBody,
} from '../api/index.js';
import { DataModule, type Insert } from '../data/index.js';
import { fingerprintOf } from './fingerprint.js';
import { type AnswerHead, IdempotencyKey } from './idempotency-key.entity.js';
import {
  type Answer,
  oldestKept,
  IdempotencyService,
  type KeyedRequest,
  LIFETIME_HOURS,
  type StoredAnswer,
} from './idempotency.service.js';

const HEADER = 'Idempotency-Key';
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

type Keyed = RawBodyRequest<AuthenticatedRequest>;

/** A call of a method by a request with a key. */
interface Call {
  readonly keyed: KeyedRequest;
  readonly request: Keyed;
  readonly response: Response;
  readonly method: () => Promise<unknown>;
}

/**
 * Makes a write with the header happen once: in a transaction that has claimed the key, or by the statement of the `Insert`
 * that the method returns.
 */
@Injectable()
class IdempotencyInterceptor implements NestInterceptor {
  constructor(private readonly idempotency: IdempotencyService) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const [request, response] = context.getArgs<[Keyed, Response]>();
    const keyed = keyOf(request);
    if (!keyed) return next.handle();
    const method = () => lastValueFrom(next.handle() as Observable<unknown>, { defaultValue: undefined });
    const isInsert = request.operation.idempotent === 'insert';
    return from(this[isInsert ? 'insert' : 'transaction']({ keyed, request, response, method }));
  }

  /** Calls the method in a transaction, or returns what it returned the first time, for the interceptors outside. */
  private async transaction(call: Call): Promise<unknown> {
    const { keyed, request, response, method } = call;
    const { operation } = request;
    const headOf = headSince(response);
    const answerOf = (value: unknown): Answer => {
      locate(request, response, value);
      const head = headOf();
      const body = textOf(operation, value, head.status);
      // Interceptors may hide what is in the text of an object whose class is unknown.
      return { ...head, body, sent: body === '' || operation.returns ? undefined : null };
    };
    const outcome = await this.idempotency.transaction(keyed, method, answerOf);
    if ('stored' in outcome) {
      await requireForBody(request);
      return this.replay(call, outcome.stored);
    }
    this.keepChanges(call, outcome.answer);
    return outcome.value;
  }

  /** Makes the row of the `Insert` that the method returns, or returns the row of the first time. */
  private async insert(call: Call): Promise<unknown> {
    const { keyed, request, response, method } = call;
    const { operation } = request;
    const headOf = headSince(response);
    let isMade = false;
    const make = async (insert: Deferred): Promise<object> => {
      isMade = true;
      const base = addressAbove(request, response) ?? null;
      const head = headOf();
      const outcome = await this.idempotency.insert(keyed, insert as Insert<ObjectLiteral>, head, base);
      if ('stored' in outcome) return this.replay(call, outcome.stored)!;
      const { value } = outcome;
      if (base !== null) response.setHeader('Location', `${base}${(value as { id: string }).id}`);
      this.keepChanges(call, { ...head, body: textOf(operation, value, head.status) });
      return value;
    };
    const value = await makingDeferred.run(make, method).catch(async (error: unknown) => {
      // A used key comes before any reason for which the request is refused, except what its body needs a permission for.
      const stored = isMade ? undefined : await this.idempotency.findRefused(keyed);
      if (!stored || operation.needs instanceof NeedsBy) throw error;
      isMade = true;
      return this.replay(call, stored);
    });
    if (!isMade) throw new Error(`${operation.id} has not returned its Insert`);
    return value;
  }

  /**
   * Sets the status, the headers and the text of a stored answer; returns its value, for the interceptors outside. An earlier
   * release may have stored the body of an answer whose row is stored now.
   */
  private replay(call: Call, stored: StoredAnswer): object | undefined {
    const { request, response } = call;
    const { operation } = request;
    const { status, headers, row, sent } = stored;
    response.statusCode = status;
    for (const [name, content] of Object.entries(headers)) response.setHeader(name, content);
    response.setHeader('Idempotency-Replayed', 'true');
    const body = row ? textOf(operation, row, status) : stored.body;
    const value = row ?? (body === '' ? undefined : valueIn(operation, body));
    // Interceptors make the text again only of a value that is certainly what they got first.
    const isExact = () => row || sent === null || (value && operation.serialize?.(value).text === body);
    if (typeof sent !== 'string' && isExact()) this.keepChanges(call, { ...stored, body });
    else if (sent ?? body) finish(response, status, () => new JsonText(sent ?? body));
    return value;
  }

  /**
   * Stores the text of an answer if interceptors, which may change the value itself, have made it differ from the stored body.
   * Simultaneous repetitions may each make a text: all of them answer with the first one stored.
   */
  private keepChanges({ keyed, response }: Call, { status, body, sent }: Answer): void {
    finish(response, status, (json) => {
      const text = json?.text ?? '';
      if (text === body && sent === undefined) return json;
      return this.idempotency.keep(keyed, text).then((kept) => (kept ? new JsonText(kept) : json));
    });
  }
}

/** Serves `@Idempotent()` in every module. */
@Global()
@Module({
  imports: [DataModule.forFeature([IdempotencyKey])],
  providers: [IdempotencyService],
  exports: [IdempotencyService],
})
export class IdempotencyModule {
  constructor({ httpAdapter }: HttpAdapterHost, idempotency: IdempotencyService) {
    // A body that cannot be read is refused before the interceptors of the method run.
    httpAdapter.getInstance<Express>().locals.requireUnusedKey = async (request: Keyed) => {
      const keyed = request.operation.idempotent ? keyOf(request) : undefined;
      if (keyed) await idempotency.findRefused(keyed);
    };
  }
}

/** The key of a request, with the facts of the request; undefined if it has none. @throws ApiError `validation_failed` */
function keyOf(request: Keyed): KeyedRequest | undefined {
  const { accountId, headers, operation, url } = request;
  const key = headers[HEADER.toLowerCase()];
  // A key belongs to an account, and a public operation has none.
  if (key === undefined || operation.access === 'public') return undefined;
  // Node joins the values of a repeated header by a comma and a blank.
  if (typeof key !== 'string' || !VISIBLE.test(key))
    throw new ApiError('validation_failed', `${HEADER} must be 1 to 255 visible ASCII characters.`);
  const query = /\?.+/s.exec(url)?.[0] ?? '';
  return { accountId, key, query, fingerprint: fingerprintOf(request), expiry: oldestKept() };
}

/** Returns the status of an answer, and the headers that were set from now on. */
function headSince(response: Response): () => Pick<Answer, 'status' | 'headers'> {
  const earlier = response.getHeaders();
  return () => {
    const set = Object.entries(response.getHeaders()).filter(
      ([name, content]) => content !== undefined && !isDeepStrictEqual(content, earlier[name]),
    );
    return { status: response.statusCode, headers: Object.fromEntries(set) as AnswerHead['headers'] };
  };
}

/** The body of an answer. @throws Error for an answer that is not JSON, and could not be repeated byte for byte */
function textOf({ id, serialize }: OperationFacts, value: unknown, status: number): string {
  if (value === undefined || value === null) return '';
  const isBinary = value instanceof StreamableFile || value instanceof Uint8Array;
  if (typeof value !== 'object' || isBinary) {
    const kind = isBinary ? value.constructor.name : typeof value;
    throw new Error(`${id} is idempotent, and returns a ${kind} instead of an object`);
  }
  return serialize && hasBody(status) ? serialize(value).text : JSON.stringify(value);
}

/** A stored value, for interceptors: of the class that the operation returns, if it fits. */
function valueIn({ returns, isList }: OperationFacts, text: string): object {
  const value = JSON.parse(text) as object;
  if (!returns) return value;
  try {
    const exact = parseJson(text) as object;
    return isList ? (exact as object[]).map((item) => readDto(returns, item)) : readDto(returns, exact);
  } catch {
    return value;
  }
}

/** A method that does nothing but return an `Insert`. */
// Whatever its row.
// oxlint-disable-next-line typescript/no-explicit-any
type Inserting = (...args: never[]) => Insert<any> | Promise<Insert<any>>;

type InsertDecorator = <Method extends Inserting>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Lets a client retry a write safely: with the header `Idempotency-Key`, each key of an account is carried out once within
 * `LIFETIME_HOURS`, and its first answer repeated byte for byte (draft-ietf-httpapi-idempotency-key-header), whatever its
 * method and status. The method runs after the claim of the key, in its transaction, which is the open one for all calls
 * inside. Interceptors outside this one get for a repeated answer the value that they got the first time; interceptors inside
 * shape the stored answer, and do not run again.
 * @param only `insert`: the method does nothing but return an `Insert`, so that the row, the key and the answer are one
 * statement. The method is then called for each request, before the key is claimed.
 */
export function Idempotent(): MethodDecorator;
export function Idempotent(only: 'insert'): InsertDecorator;
export function Idempotent(only?: 'insert'): MethodDecorator {
  return applyDecorators(
    UseInterceptors(IdempotencyInterceptor),
    MakesDeferred(),
    ApiHeader({
      name: HEADER,
      description: `Makes a retry safe: under one key, the request is carried out once, and its first answer repeated for ${LIFETIME_HOURS} hours ([guide](/guides/idempotency)).`,
      required: false,
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    }),
    Declare({ idempotent: only ?? true }),
  );
}
