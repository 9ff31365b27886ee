import { promisify } from 'node:util';
import {
  brotliDecompress,
  type BrotliOptions,
  gunzip,
  inflate,
  type ZlibOptions,
  zstdDecompress,
  type ZstdOptions,
} from 'node:zlib';
import { type CanActivate, type ExecutionContext, Injectable, type RawBodyRequest } from '@nestjs/common';
import type { Request, Response } from 'express';
import {
  ApiError,
  FORM_TYPE,
  JSON_TYPE,
  parseJson,
  refuseBody,
  type RoutedRequest,
  SMALL_JSON,
  type Takes,
  typeOf,
} from '../api/index.js';
import { arriving, room, type Settle, tooMany, Upload } from './arrivals.js';
import { Exchange } from './exchange.js';

const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Milliseconds after which a body has come late. */
const LATE_MS = 100;

type Decompress = (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>;

/** By `Content-Encoding`. */
const DECOMPRESS: Readonly<Record<string, Decompress>> = {
  gzip: promisify<Buffer, ZlibOptions, Buffer>(gunzip),
  deflate: promisify<Buffer, ZlibOptions, Buffer>(inflate),
  br: promisify<Buffer, BrotliOptions, Buffer>(brotliDecompress),
  zstd: promisify<Buffer, ZstdOptions, Buffer>(zstdDecompress),
};

/** Codes of Node's zlib for deflate and gzip, Brotli, Zstandard. */
const UNZIP_FAILURE = /^(?:Z_|ERR__ERROR_|ZSTD_)/;

/**
 * Reads the body of a request, after the guard that checks the key: without a key nothing is parsed. A guard and
 * not an interceptor, because with any global interceptor Nest wraps every call, reads too, in an Observable.
 */
@Injectable()
export class BodyGuard implements CanActivate {
  canActivate(context: ExecutionContext): true | Promise<true> {
    const [request, response] = context.getArgs<[RoutedRequest, Response]>();
    // The guard before has taken longer than the request may, or than its client waits: nothing is changed any more.
    const exchange = Exchange.of(response);
    if (exchange?.isOver) throw new ApiError('request_timeout');
    const { seconds } = request.operation;
    if (seconds !== undefined) exchange?.takeTime(seconds * 1_000);
    const { takesBody, bodyOptional } = request.operation;
    if (!takesBody && !METHODS_WITH_BODY.has(request.method)) return true;
    if (hasBody(request) || (takesBody && !bodyOptional)) return read(request, response);
    if (takesBody) request.body = {};
    return true;
  }
}

/** RFC 9112, 6: a body is announced by one of two headers. */
function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

async function read(request: RawBodyRequest<RoutedRequest>, response: Response): Promise<true> {
  const { headers } = request;
  const { takes = SMALL_JSON } = request.operation;
  const type = typeOf(takes, headers['content-type']);
  if (type === undefined) throw refuseBody('invalid_content_type', takes);
  if (Number(headers['content-length']) > takes.maxBytes) throw refuseBody('payload_too_large', takes);
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  const isKnown = encoding === 'identity' || (type !== FORM_TYPE && Object.hasOwn(DECOMPRESS, encoding));
  if (!isKnown) throw new ApiError('unsupported_encoding');
  const sent = await new Arrival(request, response, takes, type).whole();
  const bytes = encoding === 'identity' ? sent : await decompress(encoding, sent, takes);
  request.rawBody = bytes;
  if (type === JSON_TYPE) request.body = parse(bytes);
  else if (type !== FORM_TYPE) request.body = bytes;
  return true;
}

/** The arrival of a body. Most come with their headers. While one is on its way, there is nothing to do, but memory to hold. */
class Arrival {
  /** What has come, and room for more: put together only at the end, a body would be there twice. */
  private bytes?: Buffer;
  private size = 0;
  private isSettled = false;
  private from = Infinity;
  private later?: NodeJS.Immediate;
  private upload?: Upload;
  private resolve!: (bytes: Buffer) => void;
  private reject!: (error: ApiError) => void;
  private readonly exchange: Exchange;

  constructor(
    private readonly request: RoutedRequest,
    private readonly response: Response,
    private readonly takes: Takes,
    private readonly type: string,
  ) {
    this.exchange = Exchange.of(response)!;
  }

  /** @throws ApiError for a body that is too large, or does not arrive */
  whole(): Promise<Buffer> {
    const { request, response, exchange, takes, settle } = this;
    return new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
      this.later = setImmediate(() => {
        this.from = performance.now();
        exchange.rest();
        arriving.add(exchange.client, settle);
      });
      request.on('close', this.closed);
      if (takes === SMALL_JSON) return this.begin();
      const announced = Number(request.headers['content-length'] ?? takes.maxBytes);
      const isCompressed = request.headers['content-encoding'] !== undefined;
      const bytes = isCompressed ? takes.maxBytes : announced;
      const upload = new Upload(exchange, this.type, bytes, settle, this.begin);
      this.upload = upload;
      exchange.isTakingBody = true;
      response.once('close', () => room.leave(upload));
      room.enter(upload);
    });
  }

  private readonly begin = (): void => {
    const { request, response } = this;
    // RFC 9110, 10.1.1: the body is asked for only now.
    if (request.headers.expect && request.httpVersion === '1.1') response.writeContinue();
    request.on('readable', this.take);
    this.take();
  };

  /** Takes what has come. Once all has, nothing more is read: so the request has not ended, and can be read again. */
  private readonly take = (): void => {
    const { request, takes } = this;
    const before = this.size;
    for (let chunk = next(request); chunk; chunk = next(request)) {
      if (this.size + chunk.length > takes.maxBytes)
        return this.settle(refuseBody('payload_too_large', takes));
      this.keep(chunk);
    }
    if (this.size > before) this.upload?.progress(this.size - before);
    if (request.complete) this.settle();
  };

  private keep(chunk: Buffer): void {
    const { request, takes, size, bytes } = this;
    this.size += chunk.length;
    if (!bytes && request.complete) {
      this.bytes = chunk;
      return;
    }
    if (!bytes || bytes.length < this.size) {
      const announced = Number(request.headers['content-length'] ?? size * 2);
      this.bytes = Buffer.allocUnsafeSlow(Math.min(takes.maxBytes, Math.max(announced, this.size)));
      bytes?.copy(this.bytes, 0, 0, size);
    }
    chunk.copy(this.bytes!, size);
  }

  private readonly closed = (): void => this.settle(new ApiError('bad_request'));

  private readonly settle: Settle = (failure) => {
    if (this.isSettled) return;
    this.isSettled = true;
    const { request, exchange, upload } = this;
    clearImmediate(this.later);
    arriving.delete(exchange.client, this.settle);
    request.off('readable', this.take).off('close', this.closed);
    exchange.isTakingBody = false;
    request.hasWaited = performance.now() - this.from > LATE_MS;
    const error = failure ?? (exchange.work() ? undefined : tooMany());
    const bytes = this.bytes?.subarray(0, this.size) ?? Buffer.alloc(0);
    this.bytes = undefined;
    if (!error) {
      if (upload) room.arrived(upload);
      // What cuts a form into its parts reads the request as if it were arriving. In a moment it would have ended.
      if (this.type === FORM_TYPE) request.unshift(bytes);
      return this.resolve(bytes);
    }
    if (upload) room.leave(upload);
    // What the client still sends is read and dropped, until it has its answer; Node has timed it already, if it is overdue.
    request.resume();
    if (exchange.isOverdue) error.headers.Connection = 'close';
    this.reject(error);
  };
}

const next = (request: Request) => request.read() as Buffer | null;

async function decompress(encoding: string, bytes: Buffer, takes: Takes): Promise<Buffer> {
  try {
    return await DECOMPRESS[encoding]!(bytes, { maxOutputLength: takes.maxBytes });
  } catch (cause) {
    const { code = '' } = cause as { code?: string };
    if (code === 'ERR_BUFFER_TOO_LARGE') throw refuseBody('payload_too_large', takes);
    const message = UNZIP_FAILURE.test(code) ? 'The request body cannot be decompressed.' : undefined;
    throw new ApiError('bad_request', message, { cause });
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return parseJson(utf8.decode(bytes));
  } catch (cause) {
    throw new ApiError('invalid_json', undefined, { cause });
  }
}
