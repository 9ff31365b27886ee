import { once } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
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
import type { RawBodyRequest } from '@nestjs/common';
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
import { Exchange } from './exchange.js';
import { guard } from './guarded-events.js';

const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A body that was waited for longer than so many milliseconds is late: what let its request in may have changed. */
const LATE_MS = 100;

/** A body waits for memory for so many milliseconds. */
const WAIT_MS = 10_000;

/** How often the memory of a body is taken: a form is cut into its files, and JSON becomes values. */
const COPIES: Record<string, number> = { [FORM_TYPE]: 3, [JSON_TYPE]: 5 };
/** Of any other: what has come is put together at the end. */
const COPIES_OF_BYTES = 2;

/** A larger body of which nothing has come for so many milliseconds is given up, as is one that comes more slowly than this. */
const STALLED_MS = 15_000;
const LEAST_BYTES_PER_MS = 16;
const CHECK_MS = 250;

const CLOSE = { headers: { Connection: 'close' } };

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

/** Whether a request may have a body, which `readBody` then has to read. */
export function mayHaveBody({ method, operation }: RoutedRequest): boolean {
  return operation.takesBody || METHODS_WITH_BODY.has(method);
}

/**
 * Reads the body of a request: once the key has been checked, as without a key nothing is parsed.
 * @returns whether it came late
 * @throws ApiError for a body that the operation does not take, or that does not arrive
 */
export async function readBody(request: RawBodyRequest<RoutedRequest>, response: Response): Promise<boolean> {
  const { headers, operation } = request;
  const { takes = SMALL_JSON, takesBody, bodyOptional } = operation;
  const isOptional = bodyOptional || !takesBody;
  const none = takesBody ? {} : undefined;
  // One in chunks may be empty: tunnels and proxies send it so for none.
  const mayBeEmpty = isOptional && headers['transfer-encoding'] !== undefined;
  if (isOptional && !mayBeEmpty && !(Number(headers['content-length']) > 0)) {
    request.body = none;
    return false;
  }
  const type = typeOf(takes, headers['content-type']);
  const encoding = headers['content-encoding']?.toLowerCase() ?? 'identity';
  const requireFit = () => {
    if (type === undefined) throw refuseBody('invalid_content_type', takes);
    if (Number(headers['content-length']) > takes.maxBytes) throw refuseBody('payload_too_large', takes);
    const isKnown = encoding === 'identity' || (type !== FORM_TYPE && Object.hasOwn(DECOMPRESS, encoding));
    if (!isKnown) throw new ApiError('unsupported_encoding');
  };
  if (!mayBeEmpty) requireFit();
  const { sent, isLate } = await arrive(request, response, takes, type);
  if (mayBeEmpty && sent.length === 0) request.body = none;
  else {
    if (mayBeEmpty) requireFit();
    const bytes = encoding === 'identity' ? sent : await decompress(encoding, sent, takes);
    request.rawBody = bytes;
    if (type === JSON_TYPE) request.body = parse(bytes);
    else if (type !== FORM_TYPE) request.body = bytes;
  }
  return isLate;
}

/**
 * The body as it is sent. Most come with their headers, and are there in the next turn of the event loop. Until another one is
 * there, its request is no work, but holds memory until it is answered.
 */
async function arrive(
  request: RoutedRequest,
  response: Response,
  takes: Takes,
  type: string | undefined,
): Promise<{ sent: Buffer; isLate: boolean }> {
  const { headers } = request;
  const body = new Body(request, takes, type === FORM_TYPE);
  if (!request.complete) await nextTurn();
  if (request.complete) return { sent: body.take()!, isLate: false };
  const exchange = Exchange.of(response)!;
  const from = performance.now();
  exchange.isUpload = takes !== SMALL_JSON;
  exchange.pause();
  try {
    const isCompressed = headers['content-encoding'] !== undefined;
    const announced = isCompressed ? takes.maxBytes : Number(headers['content-length'] ?? takes.maxBytes);
    const copies = (COPIES[type ?? JSON_TYPE] ?? COPIES_OF_BYTES) + (isCompressed ? 1 : 0);
    await exchange.hold(announced * copies, WAIT_MS);
    // RFC 9110, 10.1.1: the body is asked for only now.
    if (headers.expect && request.httpVersion === '1.1') response.writeContinue();
    const sent = await body.whole(exchange.isUpload);
    exchange.resume();
    return { sent, isLate: performance.now() - from > LATE_MS };
  } catch (error) {
    // What the client still sends is read and dropped, until it has its answer. Node times a request once.
    request.resume();
    if (exchange.isOverdue && error instanceof ApiError) error.headers.Connection = 'close';
    throw error;
  }
}

/** A body that is on its way, or has come. */
class Body {
  private readonly chunks: Buffer[] = [];
  private size = 0;
  private readonly begun = performance.now();
  private since = this.begun;

  /** @param isReadAgain whether it is read as if it were arriving: by what cuts a form into its parts */
  constructor(
    private readonly request: Request,
    private readonly takes: Takes,
    private readonly isReadAgain: boolean,
  ) {}

  /** Takes what has come; returns the whole body once it is there. @throws ApiError if it is too large */
  take(): Buffer | undefined {
    const { request, takes, chunks } = this;
    for (let chunk = next(request); chunk; chunk = next(request)) {
      this.size += chunk.length;
      this.since = performance.now();
      if (this.size > takes.maxBytes) throw refuseBody('payload_too_large', takes);
      chunks.push(chunk);
    }
    if (!request.complete) return undefined;
    const whole = chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks);
    chunks.length = 0;
    // In a moment the request would have ended.
    if (this.isReadAgain && whole.length > 0) request.unshift(whole);
    return whole;
  }

  /**
   * The whole body, when it is there.
   * @param isUpload whether it may take longer than Node's time for requests, as long as it comes fast enough
   * @throws ApiError if it is too large, or does not arrive
   */
  async whole(isUpload: boolean): Promise<Buffer> {
    const { request } = this;
    this.since = performance.now();
    const over = new AbortController();
    const timer = isUpload ? setInterval(() => guard(request.socket, check), CHECK_MS).unref() : undefined;
    const check = () => {
      if (this.isGivenUp()) over.abort(new ApiError('request_timeout', undefined, CLOSE));
    };
    const closed = () => over.abort(new ApiError('bad_request'));
    request.on('close', closed);
    try {
      for (;;) {
        const whole = this.take();
        if (whole) return whole;
        await once(request, 'readable', { signal: over.signal });
      }
    } catch (error) {
      if (over.signal.aborted) throw over.signal.reason;
      throw error instanceof ApiError ? error : new ApiError('bad_request', undefined, { cause: error });
    } finally {
      clearInterval(timer);
      request.off('close', closed);
    }
  }

  private isGivenUp(): boolean {
    const now = performance.now();
    return now - this.since >= STALLED_MS || now - this.begun >= STALLED_MS + this.size / LEAST_BYTES_PER_MS;
  }
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
