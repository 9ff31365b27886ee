import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import express, { type Request, type Response } from 'express';
import { ApiError, type ErrorCode } from './api-error.js';
import { parseJson } from './json.js';

const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);
const JSON_UTF8 = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i;
// Bytes as they are: body-parser limits, inflates and times them, but its text decoder would mend invalid UTF-8.
const readBytes = express.raw({ type: () => true, limit: '100kb' });
const utf8 = new TextDecoder('utf-8', { fatal: true });

const CODES: Record<string, ErrorCode> = {
  'entity.too.large': 'payload_too_large',
  'encoding.unsupported': 'unsupported_encoding',
};

/**
 * Reads the JSON body of a request, after the guard that checks the key: without a key nothing is parsed.
 * A guard and not an interceptor, because with one interceptor Nest wraps every call, reads too, in an Observable.
 */
@Injectable()
export class BodyGuard implements CanActivate {
  canActivate(context: ExecutionContext): true | Promise<true> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    return METHODS_WITH_BODY.has(request.method) ? read(request, http.getResponse<Response>()) : true;
  }
}

async function read(request: Request, response: Response): Promise<true> {
  if (!JSON_UTF8.test(request.headers['content-type'] ?? '')) throw new ApiError('invalid_content_type');
  await new Promise<void>((resolve, reject) => {
    readBytes(request, response, (failure?: unknown) => (failure ? reject(refusal(failure)) : resolve()));
  });
  request.body = parse(request.body as Buffer | undefined);
  return true;
}

function refusal(failure: unknown): ApiError {
  const type = (failure as { type?: string }).type ?? '';
  return new ApiError(CODES[type] ?? 'bad_request', undefined, { cause: failure });
}

function parse(bytes: Buffer | undefined): unknown {
  try {
    return parseJson(utf8.decode(bytes));
  } catch (cause) {
    throw new ApiError('invalid_json', undefined, { cause });
  }
}
