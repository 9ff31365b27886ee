import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import { brotliDecompress, type BrotliOptions, gunzip, inflate, type ZlibOptions } from 'node:zlib';
import type { CallHandler, ExecutionContext, NestInterceptor, RawBodyRequest } from '@nestjs/common';
import type { Request, Response } from 'express';
import {
  ApiError,
  countHeader,
  FORM_TYPE,
  JSON_TYPE,
  parseJson,
  refuseBody,
  type RoutedRequest,
  SMALL_JSON,
  type Takes,
  typeOf,
} from '../api/index.js';
import { Exchange } from './exchange.js';

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Milliseconds after which a body counts as late: meanwhile, the permissions of its request may have changed. */
const LATE_MS = 100;

/** Memory that a body takes, as a multiple of its size: a form is cut into files, JSON is parsed into values. */
const COPIES: Record<string, number> = { [FORM_TYPE]: 3, [JSON_TYPE]: 5 };
/** The multiple for other types, whose chunks are concatenated. */
const COPIES_OF_BYTES = 2;

/** An upload is aborted if no byte arrives for this many milliseconds, or if its rate is below the minimum. */
const STALLED_MS = 15_000;
const MIN_BYTES_PER_MS = 16;
const CHECK_MS = 250;

const nextTick = promisify((done: () => void) => process.nextTick(done));

type Decompress = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

const fromGzip = promisify<Buffer, ZlibOptions, Buffer>(gunzip);

/** Decompression functions by `Content-Encoding`. `x-gzip` is an older name of gzip (RFC 9110, 8.4.1.3). */
const DECOMPRESS: Readonly<Record<string, Decompress>> = {
  gzip: fromGzip,
  'x-gzip': fromGzip,
  deflate: promisify<Buffer, ZlibOptions, Buffer>(inflate),
  br: promisify<Buffer, BrotliOptions, Buffer>(brotliDecompress),
};

/** Reads the body of a request that all guards have admitted, before any other interceptor of the method runs. */
export const BODY_READER: NestInterceptor = {
  async intercept(context: ExecutionContext, next: CallHandler) {
    const [request, response] = context.getArgs<[RawBodyRequest<RoutedRequest>, Response]>();
    const { checkBody } = request;
    // A controller and its inherited method may both have this interceptor.
    request.checkBody = undefined;
    if (checkBody) {
      const isLate = await readBody(request, response).catch((error: unknown) => refuse(request, error));
      await checkBody(request, response, isLate);
    }
    return next.handle();
  },
};

/** The errors for a body that has not been read: the body may be that of the first request with its key. */
const NOT_READ = new Set<unknown>(['request_timeout', 'service_unavailable']);

/** Refuses a request for its `Idempotency-Key` if the key is used, otherwise for its body. @throws ApiError for either */
async function refuse(request: Request, error: unknown): Promise<never> {
  if (error instanceof ApiError && NOT_READ.has(error.code)) throw error;
  const { requireUnusedKey } = request.app.locals as { requireUnusedKey?: (one: Request) => Promise<void> };
  await requireUnusedKey?.(request);
  throw error;
}

/**
 * Reads and parses the body of a request. Express's `raw` does not suffice: a form is read twice, here for its idempotency key
 * and then by Nest's interceptor, and a request with too large a body is answered before the whole body has arrived.
 * @returns whether the body was late
 * @throws ApiError for a body that the operation does not take, or that does not arrive
 */
async function readBody(request: RawBodyRequest<RoutedRequest>, response: Response): Promise<boolean> {
  const { headers, operation } = request;
  const { takes = SMALL_JSON, takesBody, bodyOptional } = operation;
  const isOptional = bodyOptional || !takesBody;
  // A chunked body may be empty: some proxies forward a request without a body that way.
  const mayBeEmpty = isOptional && headers['transfer-encoding'] !== undefined;
  const isEmpty = isOptional && !mayBeEmpty && !(Number(headers['content-length']) > 0);
  if (isEmpty) request.body = takesBody ? {} : undefined;
  if (isEmpty) return false;
  // Node keeps the first of several `Content-Type` headers, which may not be the one that the sender meant.
  const type = countHeader(request, 'content-type') > 1 ? undefined : typeOf(takes, headers['content-type']);
  if (!mayBeEmpty) requireFit(request, takes, type);
  const body = new Body(request, takes, type);
  // Most bodies arrive together with the headers, and Node has parsed such a body by the next tick.
  if (!request.complete) await nextTick();
  const isWhole = request.complete;
  const sent = isWhole ? body.read()! : await body.receive(response);
  if (mayBeEmpty && sent.length === 0) request.body = takesBody ? {} : undefined;
  else {
    if (mayBeEmpty) requireFit(request, takes, type);
    const encoding = encodingOf(headers);
    // What has come in one packet may become a thousand times as large.
    if (isWhole && encoding !== IDENTITY) await body.reserveMemory(Exchange.of(response)!);
    const bytes = encoding === IDENTITY ? sent : await decompress(encoding, sent, takes);
    request.rawBody = bytes;
    if (type === JSON_TYPE) request.body = parse(bytes);
    else if (type !== FORM_TYPE) request.body = bytes;
  }
  return !isWhole && body.ageMs > LATE_MS;
}

/** @throws ApiError if the headers announce a body that the operation does not take */
function requireFit({ headers }: Request, takes: Takes, type: string | undefined): void {
  if (type === undefined) throw refuseBody('invalid_content_type', takes);
  if (Number(headers['content-length']) > takes.maxBytes) throw refuseBody('payload_too_large', takes);
  const encoding = encodingOf(headers);
  const canDecode = encoding === IDENTITY || (type !== FORM_TYPE && Object.hasOwn(DECOMPRESS, encoding));
  if (canDecode) return;
  // RFC 9110, 12.5.3
  const accepted = type === FORM_TYPE ? IDENTITY : 'gzip, deflate, br';
  throw new ApiError('unsupported_encoding', undefined, { headers: { 'Accept-Encoding': accepted } });
}

const IDENTITY = 'identity';
const encodingOf = (headers: IncomingHttpHeaders) => headers['content-encoding']?.toLowerCase() || IDENTITY;

/** The body of a request as sent. */
class Body {
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private readonly startedAt = performance.now();
  private lastChunkAt = this.startedAt;

  constructor(
    private readonly request: Request,
    private readonly takes: Takes,
    private readonly type: string | undefined,
  ) {}

  get ageMs(): number {
    return performance.now() - this.startedAt;
  }

  /** Reads the chunks that have arrived; returns the body once it is complete. @throws ApiError if it is too large */
  read(): Buffer | undefined {
    const { request, takes, chunks } = this;
    for (let chunk = next(request); chunk; chunk = next(request)) {
      this.size += chunk.length;
      this.lastChunkAt = performance.now();
      if (this.size > takes.maxBytes) throw refuseBody('payload_too_large', takes);
      chunks.push(chunk);
    }
    if (!request.complete) return undefined;
    const whole = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    chunks.length = 0;
    // Puts the body back for Nest's form parser; this works until the request emits `end`.
    if (this.type === FORM_TYPE && whole.length > 0) request.unshift(whole);
    return whole;
  }

  /** Reserves memory until the request is answered. @throws ApiError as `Exchange.reserveMemory` does */
  reserveMemory(exchange: Exchange): Promise<void> {
    const { request, takes, type = JSON_TYPE } = this;
    const { headers } = request;
    const isCompressed = encodingOf(headers) !== IDENTITY;
    const announced = isCompressed ? takes.maxBytes : Number(headers['content-length'] ?? takes.maxBytes);
    const copies = (COPIES[type] ?? COPIES_OF_BYTES) + (isCompressed ? 1 : 0);
    return exchange.reserveMemory(announced * copies);
  }

  /**
   * Waits for the complete body, with the deadline paused. Reserves memory for it until the request is answered.
   * @throws ApiError if the body is too large, or does not arrive
   */
  async receive(response: Response): Promise<Buffer> {
    const { request, takes } = this;
    const exchange = Exchange.of(response)!;
    exchange.isUpload = takes !== SMALL_JSON;
    try {
      await this.reserveMemory(exchange);
      exchange.pause();
      // RFC 9110, 10.1.1: the client waits for `100 Continue` before it sends the body.
      if (request.headers.expect && request.httpVersion === '1.1') response.writeContinue();
      const whole = await this.whole(exchange.isUpload);
      exchange.resume();
      return whole;
    } catch (error) {
      // Drops further bytes until the client has its answer. Closes an overdue upload, which Node does not time out again.
      request.resume();
      if (exchange.isOverdue && error instanceof ApiError) error.headers.Connection = 'close';
      throw error;
    }
  }

  /** @param isUpload whether the minimum rate applies instead of Node's time limit for requests */
  private async whole(isUpload: boolean): Promise<Buffer> {
    const { request } = this;
    this.lastChunkAt = performance.now();
    const abort = new AbortController();
    const closed = () => abort.abort(new ApiError('bad_request'));
    const headers = { Connection: 'close' };
    const check = () =>
      this.isTooSlow() && abort.abort(new ApiError('request_timeout', undefined, { headers }));
    const timer = isUpload ? setInterval(check, CHECK_MS).unref() : undefined;
    request.on('close', closed);
    try {
      for (;;) {
        const whole = this.read();
        if (whole) return whole;
        await once(request, 'readable', { signal: abort.signal });
      }
    } catch (error) {
      if (abort.signal.aborted) throw abort.signal.reason;
      throw error instanceof ApiError ? error : new ApiError('bad_request', undefined, { cause: error });
    } finally {
      clearInterval(timer);
      request.off('close', closed);
    }
  }

  private isTooSlow(): boolean {
    const isStalled = performance.now() - this.lastChunkAt >= STALLED_MS;
    return isStalled || this.ageMs >= STALLED_MS + this.size / MIN_BYTES_PER_MS;
  }
}

const next = (request: Request) => request.read() as Buffer | null;

async function decompress(encoding: string, bytes: Buffer, takes: Takes): Promise<Buffer> {
  try {
    return await DECOMPRESS[encoding]!(bytes, { maxOutputLength: takes.maxBytes });
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code === 'ERR_BUFFER_TOO_LARGE') throw refuseBody('payload_too_large', takes);
    throw new ApiError('bad_request', 'The request body cannot be decompressed.', { cause });
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return parseJson(utf8.decode(bytes));
  } catch (cause) {
    throw new ApiError('invalid_json', undefined, { cause });
  }
}
