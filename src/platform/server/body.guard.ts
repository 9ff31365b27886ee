import { type CanActivate, type ExecutionContext, Injectable, type RawBodyRequest } from '@nestjs/common';
import express, { type Request, type Response } from 'express';
import { ApiError, type ErrorCode, type RoutedRequest } from '../api/index.js';
import { Holdings } from '../process/index.js';
import { Exchange } from './exchange.js';
import { parseJson } from './json.js';

const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);
// No two runs of white space can match next to each other: that would take time quadratic in their length.
const JSON_UTF8 = /^application\/json\s*(?:;\s*(?:charset\s*=\s*"?utf-8"?\s*(?:;\s*)?)?)?$/i;
const LIMIT_BYTES = 102_400;
/** Bodies that may be arriving at a time: with `LIMIT_BYTES` each, 100 MB. */
const ARRIVING = 1_000;
// Raw bytes: body-parser limits, inflates and times them, but its text decoder would repair invalid UTF-8.
const readBytes = express.raw({ type: () => true, limit: LIMIT_BYTES });
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Ends the wait for a body, which has arrived unless there is a failure. */
type Settle = (failure?: ApiError) => void;
/** Milliseconds after which a body has come late. */
const LATE_MS = 100;
const arriving = new Holdings<Settle>(ARRIVING, (settle) => settle(tooMany()));

/** Codes of Node's zlib for deflate and gzip, Brotli, Zstandard. */
const UNZIP_FAILURE = /^(?:Z_|ERR__ERROR_|ZSTD_)/;

const CODES: Record<string, ErrorCode> = {
  'entity.too.large': 'payload_too_large',
  'encoding.unsupported': 'unsupported_encoding',
};

/**
 * Reads the JSON body of a request, after the guard that checks the key: without a key nothing is parsed. A guard and
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
    if (!METHODS_WITH_BODY.has(request.method)) return true;
    if (!request.operation.bodyOptional || hasBody(request)) return read(request, response);
    request.body = {};
    return true;
  }
}

/** RFC 9112, 6: a body is announced by one of two headers. */
function hasBody({ headers }: Request): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

async function read(request: RawBodyRequest<RoutedRequest>, response: Response): Promise<true> {
  if (!JSON_UTF8.test(request.headers['content-type'] ?? '')) throw new ApiError('invalid_content_type');
  if (Number(request.headers['content-length']) > LIMIT_BYTES) throw new ApiError('payload_too_large');
  // RFC 9110, 10.1.1: the body is asked for only now.
  if (request.headers.expect && request.httpVersion === '1.1') response.writeContinue();
  await arrival(request, response);
  request.rawBody = request.body as Buffer | undefined;
  request.body = parse(request.rawBody);
  return true;
}

/** Most bodies come with their headers. While one is on its way, there is nothing to do, but memory to hold. */
function arrival(request: RoutedRequest, response: Response): Promise<void> {
  const exchange = Exchange.of(response)!;
  return new Promise((resolve, reject) => {
    let isSettled = false;
    const settle: Settle = (failure) => {
      if (isSettled) return;
      isSettled = true;
      clearImmediate(later);
      arriving.delete(exchange.client, settle);
      request.hasWaited = performance.now() - from > LATE_MS;
      const error = failure ?? (exchange.work() ? undefined : tooMany());
      if (error) reject(error);
      else resolve();
    };
    let from = Infinity;
    const later = setImmediate(() => {
      from = performance.now();
      exchange.rest();
      arriving.add(exchange.client, settle);
    });
    if (request.headers['content-length'] === undefined) refuseAtLimit(request, settle);
    readBytes(request, response, (failure?: unknown) => settle(failure ? toApiError(failure) : undefined));
  });
}

/** A client that sends on is not listened to. */
function tooMany(): ApiError {
  return new ApiError('service_unavailable', undefined, { headers: { Connection: 'close' } });
}

/** body-parser reports a body of unknown length as too large only when all of it has arrived, however much that is. */
function refuseAtLimit(request: Request, settle: Settle): void {
  let size = 0;
  request.on('data', ({ length }: Buffer) => {
    size += length;
    if (size > LIMIT_BYTES) settle(new ApiError('payload_too_large'));
  });
}

function toApiError(failure: unknown): ApiError {
  const { type = '', code = '' } = failure as { type?: string; code?: string };
  const message = UNZIP_FAILURE.test(code) ? 'The request body cannot be decompressed.' : undefined;
  return new ApiError(CODES[type] ?? 'bad_request', message, { cause: failure });
}

function parse(bytes: Buffer | undefined): unknown {
  try {
    return parseJson(utf8.decode(bytes));
  } catch (cause) {
    throw new ApiError('invalid_json', undefined, { cause });
  }
}
