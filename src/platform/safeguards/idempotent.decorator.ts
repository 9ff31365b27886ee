import { hash } from 'node:crypto';
import type { OutgoingHttpHeaders } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import {
  applyDecorators,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  Injectable,
  type RawBodyRequest,
  UseGuards,
} from '@nestjs/common';
import { RESPONSE_PASSTHROUGH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { Reflector } from '@nestjs/core';
import { ApiHeader } from '@nestjs/swagger';
import type { Response } from 'express';
import { isObservable, lastValueFrom } from 'rxjs';
import {
  addressOf,
  ApiError,
  type AuthenticatedRequest,
  Declare,
  isLaterVersion,
  withoutVersion,
} from '../api/index.js';
import { answerToStore, IdempotencyService, LIFETIME_HOURS, restore } from './idempotency.service.js';
import type { KeyedRequest } from './idempotency-key.entity.js';
import type { Prospect } from './sole-write.js';

const HEADER = 'Idempotency-Key';
/** Bytes of a body from which on its answer is not written by SQL too, which would send it twice more. */
const LONG = 16_384;
const VISIBLE = /^[\x21-\x7e]{1,255}$/;

type Method = () => unknown;
/** Carries out the write of a request with the header once, and resolves to what interceptors see. */
type Once = (method: Method) => Promise<unknown>;
type IdempotentRequest = RawBodyRequest<AuthenticatedRequest> & { runOnce?: Once };

/** What an operation says of its writes. */
export interface IdempotentOptions {
  /**
   * Whether all that the method asks of the database is one `addRow` or `changeRow`, whose row it returns, what is added for
   * that row (`addRowsAtCommit`, the audit log, jobs), and rows that are set before (`setRow`): key, rows and answer are then
   * written by one statement, and those of one moment are sent together. A method that asks for more is
   * done in a transaction, and the log says so; one that does so now and then, behind its row, is answered 500.
   */
  writesRow?: boolean;
}

const Options = Reflector.createDecorator<IdempotentOptions>();

/** Reads the header. */
@Injectable()
class IdempotencyGuard implements CanActivate {
  constructor(
    private readonly idempotency: IdempotencyService,
    private readonly reflector: Reflector,
  ) {}

  canActivate(context: ExecutionContext): true {
    const [request, response] = context.getArgs<[IdempotentRequest, Response]>();
    // Keys are an account's own, and an open operation has none.
    if (request.headers[HEADER.toLowerCase()] === undefined || request.operation.access === 'public')
      return true;
    const [key = '', ...others] = request.headersDistinct[HEADER.toLowerCase()] ?? [];
    if (others.length > 0 || !VISIBLE.test(key)) {
      throw new ApiError('validation_failed', `${HEADER} must be 1 to 255 visible ASCII characters.`);
    }
    const { accountId } = request;
    const keyed = { accountId, key, requestHash: hashOf(request), bytes: request.rawBody?.length ?? 0 };
    const options = this.reflector.get(Options, context.getHandler());
    request.runOnce = (method) => this.run(keyed, options, method, request, response);
    return true;
  }

  /** What is sent is decided when interceptors are done: `response` may have changed, and is stored as it is then. */
  private async run(
    keyed: KeyedRequest,
    { writesRow }: IdempotentOptions,
    method: Method,
    request: IdempotentRequest,
    response: Response,
  ): Promise<unknown> {
    const { operation } = request;
    const before = response.getHeaders();
    const { statusCode } = response;
    let value: unknown;
    let calls = 0;
    const write = async () => {
      const call = ++calls;
      if (call > 1) reset(response, before, statusCode);
      const returned = await method();
      const given: unknown = isObservable(returned)
        ? await lastValueFrom(returned, { defaultValue: undefined })
        : returned;
      // An earlier call, whose transaction was undone, may end later.
      if (call === calls) value = given;
      return answerToStore(operation, given, response, before);
    };
    const { answer, createdAt, isReplayed } = await this.idempotency.once(
      keyed,
      write,
      writesRow ? prospectOf(request) : undefined,
    );
    request.settle = async (body) => {
      if (isReplayed) return restore(answer, response);
      const final = answerToStore(operation, body, response, before);
      if (!isDeepStrictEqual(final, answer)) await this.idempotency.update(keyed, createdAt, final);
      return body;
    };
    if (!isReplayed) return value;
    return answer.body === '' ? undefined : JSON.parse(answer.body);
  }
}

/** What is known of the answer to a request that writes a row; undefined if that does not suffice to write it in SQL. */
function prospectOf(request: IdempotentRequest): Prospect | undefined {
  const { id, returns, successes } = request.operation;
  const [{ status, located } = { status: 200 }] = successes;
  if (!returns || (request.rawBody?.length ?? 0) > LONG) return undefined;
  return { id, returns, status, base: located ? `${addressOf(request)}/` : null };
}

/** Takes from an answer what a call of the method has set whose transaction was undone. */
function reset(response: Response, before: OutgoingHttpHeaders, statusCode: number): void {
  for (const name of response.getHeaderNames()) if (!(name in before)) response.removeHeader(name);
  response.setHeaders(new Map(Object.entries(before) as [string, string][]));
  response.statusCode = statusCode;
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
  requireReturned(target, name);
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

/** @throws Error for a method that sends its answer itself: before the commit, and not again */
function requireReturned({ constructor }: object, name: string | symbol): void {
  const taken = (Reflect.getMetadata(ROUTE_ARGS_METADATA, constructor, name) ?? {}) as object;
  const kinds = new Set(Object.keys(taken).map((kind) => kind.split(':')[0]));
  const isSent = [RouteParamtypes.RESPONSE, RouteParamtypes.NEXT].some((kind) => kinds.has(String(kind)));
  if (!isSent || Reflect.getMetadata(RESPONSE_PASSTHROUGH_METADATA, constructor, name)) return;
  const method = `${constructor.name}.${String(name)}`;
  throw new Error(`${method} is idempotent, and must return its answer: @Res({ passthrough: true })`);
}

/**
 * What makes two requests the same: their method, path and body, byte for byte. `/v1/messages` and `/messages` are one
 * path. Of a form, its parts are compared: each time it is written, another boundary stands between them.
 */
function hashOf({ method, path, rawBody, headers }: IdempotentRequest): Buffer {
  const exact = path.replace(/\/+$/, '');
  const address = isLaterVersion(exact) ? exact : withoutVersion(exact);
  const head = Buffer.from(`${method} ${address}\n`);
  if (!rawBody) return hash('sha256', head, 'buffer');
  const [, boundary] = BOUNDARY.exec(headers['content-type'] ?? '') ?? [];
  const parts = boundary === undefined ? [rawBody] : partsOf(rawBody, boundary);
  return hash('sha256', Buffer.concat([head, ...parts]), 'buffer');
}

/** RFC 2046, 5.1.1. */
const BOUNDARY = /^multipart\/[^;]+;.*?\bboundary="?([^";,\s]+)/i;

/** What stands between the boundaries of a form, each part after its length. */
function partsOf(body: Buffer, boundary: string): Buffer[] {
  const delimiter = Buffer.from(`--${boundary}`);
  const parts: Buffer[] = [];
  for (let from = 0, to = 0; to >= 0; from = to + delimiter.length) {
    to = body.indexOf(delimiter, from);
    const part = body.subarray(from, to < 0 ? undefined : to);
    parts.push(Buffer.from(`${part.length}\n`), part);
  }
  return parts;
}

/**
 * Lets a client retry a write safely: with the header `Idempotency-Key` it happens once for each key and account
 * within `LIFETIME_HOURS`, and its first answer is given again byte for byte (draft-ietf-httpapi-idempotency-key-header),
 * whatever its method and its status. It may stand anywhere among the decorators. Interceptors see what the method has
 * returned, and what they make of that is sent and stored; when an answer is given again, they see it as JSON has it, and
 * change nothing.
 */
export function Idempotent(options: IdempotentOptions = {}): MethodDecorator {
  return applyDecorators(
    AnsweredOnce,
    Options(options),
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
