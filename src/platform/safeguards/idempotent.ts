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

/** The call of a controller method by a request with an `Idempotency-Key`. */
interface Call {
  readonly keyed: KeyedRequest;
  readonly request: Keyed;
  readonly response: Response;
  readonly method: () => Promise<unknown>;
}

/**
 * Makes a write with an `Idempotency-Key` happen once: the method runs in a transaction that has claimed the
 * key, or returns an `Insert` whose statement claims the key.
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

  /** Calls the method in a transaction, or returns the first call's value, for the outer interceptors. */
  private async transaction(call: Call): Promise<unknown> {
    const { keyed, request, response, method } = call;
    const { operation } = request;
    const headOf = headSince(response);
    const answerOf = (value: unknown): Answer => {
      locate(request, response, value);
      const head = headOf();
      const body = textOf(operation, value, head.status);
      // Without a class of the answer, outer interceptors may hide fields: the text sent is not known yet.
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

  /** Runs the `Insert` that the method returns, or returns the row that the first request inserted. */
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
      // A used key takes precedence over any other reason to refuse the request, except a permission that its body needs.
      const stored = isMade ? undefined : await this.idempotency.findRefused(keyed);
      if (!stored || operation.needs instanceof NeedsBy) throw error;
      isMade = true;
      return this.replay(call, stored);
    });
    if (!isMade) throw new Error(`${operation.id} has not returned its Insert`);
    return value;
  }

  /**
   * Sets the status, headers and text of a stored answer; returns its value, for the outer interceptors. An
   * earlier release may have stored the answer of an `Insert` as a body instead of a row.
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
    // Uses the interceptors' text only if `value` certainly equals the value that they got the first time.
    const isExact = () => row || sent === null || (value && operation.serialize?.(value).text === body);
    if (typeof sent !== 'string' && isExact()) this.keepChanges(call, { ...stored, body });
    else if (sent ?? body) finish(response, status, () => new JsonText(sent ?? body));
    return value;
  }

  /**
   * Stores the text of an answer if interceptors, which may change the value in place, made the text differ
   * from the stored body. If simultaneous repetitions make several texts, all send the text stored first.
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
    // `BODY_READER` calls this if it cannot read a body: the interceptors of the method do not run then.
    httpAdapter.getInstance<Express>().locals.requireUnusedKey = async (request: Keyed) => {
      const keyed = request.operation.idempotent ? keyOf(request) : undefined;
      if (keyed) await idempotency.findRefused(keyed);
    };
  }
}

/** The key and facts of a request; undefined if it has no key. @throws ApiError `validation_failed` */
function keyOf(request: Keyed): KeyedRequest | undefined {
  const { accountId, headers, operation, url } = request;
  const key = headers[HEADER.toLowerCase()];
  // A key belongs to an account, and public operations have no account.
  if (key === undefined || operation.access === 'public') return undefined;
  // Node joins the values of a repeated header by a comma and a blank.
  if (typeof key !== 'string' || !VISIBLE.test(key))
    throw new ApiError('validation_failed', `${HEADER} must be 1 to 255 visible ASCII characters.`);
  const query = /\?.+/s.exec(url)?.[0] ?? '';
  return { accountId, key, query, fingerprint: fingerprintOf(request), expiry: oldestKept() };
}

/** Returns a function for the status of an answer and the headers set since this call. */
function headSince(response: Response): () => Pick<Answer, 'status' | 'headers'> {
  const earlier = response.getHeaders();
  return () => {
    const set = Object.entries(response.getHeaders()).filter(
      ([name, content]) => content !== undefined && !isDeepStrictEqual(content, earlier[name]),
    );
    return { status: response.statusCode, headers: Object.fromEntries(set) as AnswerHead['headers'] };
  };
}

/** The body of an answer. @throws Error unless it is JSON: other answers cannot be repeated byte for byte */
function textOf({ id, serialize }: OperationFacts, value: unknown, status: number): string {
  if (value === undefined || value === null) return '';
  const isBinary = value instanceof StreamableFile || value instanceof Uint8Array;
  if (typeof value !== 'object' || isBinary) {
    const kind = isBinary ? value.constructor.name : typeof value;
    throw new Error(`${id} is idempotent, but returns a ${kind} instead of an object`);
  }
  return serialize && hasBody(status) ? serialize(value).text : JSON.stringify(value);
}

/** A stored value, for interceptors: an instance of the operation's class, if the JSON fits that class. */
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
// oxlint-disable-next-line typescript/no-explicit-any -- the row may be of any entity
type Inserting = (...args: never[]) => Insert<any> | Promise<Insert<any>>;

type InsertDecorator = <Method extends Inserting>(
  target: object,
  name: string | symbol,
  descriptor: TypedPropertyDescriptor<Method>,
) => void;

/**
 * Lets a client retry a write safely with the header `Idempotency-Key`
 * (draft-ietf-httpapi-idempotency-key-header). For each key of an account, a request is carried out once
 * within `LIFETIME_HOURS`, and its first answer is repeated byte for byte, whatever its method and status.
 * The method runs in the transaction that has claimed the key. Outer interceptors get the same value for a
 * repeated answer as for the first; inner interceptors shape the stored answer, and do not run again.
 * @param only `insert`: the method does nothing but return an `Insert`, and one statement stores the row, the
 * key and the answer. The method is called for each request, before the key is claimed.
 */
export function Idempotent(): MethodDecorator;
export function Idempotent(only: 'insert'): InsertDecorator;
export function Idempotent(only?: 'insert'): MethodDecorator {
  return applyDecorators(
    UseInterceptors(IdempotencyInterceptor),
    MakesDeferred(),
    ApiHeader({
      name: HEADER,
      description: `Makes a retry safe: under one key, the request is carried out once, and its first answer is repeated for ${LIFETIME_HOURS} hours ([guide](/guides/idempotency)).`,
      required: false,
      schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
    }),
    Declare({ idempotent: only ?? true }),
  );
}
