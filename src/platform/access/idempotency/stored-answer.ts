import { isDeepStrictEqual } from 'node:util';
import type { OutgoingHttpHeaders } from 'node:http';
import { StreamableFile } from '@nestjs/common';
import type { Response } from 'express';
import { JsonText, type OperationFacts } from '../../api/index.js';
import type { AnswerHead, IdempotencyKey } from './idempotency-key.entity.js';

/** An answer as it is stored; its body is empty if it has none. */
export interface StoredAnswer extends Pick<AnswerHead, 'headers'> {
  /** None of an answer of release 1.0.0. */
  status?: number;
  body: string;
}

/** What a method has answered: its value, the status, and the headers that were not there `before` it. */
export function answerToStore(
  operation: OperationFacts,
  value: unknown,
  response: Response,
  before: OutgoingHttpHeaders,
): StoredAnswer {
  const set = Object.entries(response.getHeaders()).filter(
    ([name, content]) => content !== undefined && !isDeepStrictEqual(content, before[name]),
  );
  const headers = Object.fromEntries(set) as AnswerHead['headers'];
  return { status: response.statusCode, headers, body: textOf(operation, value) };
}

/** The columns of an answer that is stored at some time. */
export function columnsOf({ status, headers, body }: StoredAnswer, createdAt: Date) {
  const head = status === undefined ? null : { status, headers, createdAt: createdAt.toISOString() };
  return { location: (headers.location as string | undefined) ?? null, body, head };
}

/** The answer that a row holds. */
export function answerIn({ head, location, body, createdAt }: IdempotencyKey): StoredAnswer {
  const isItsOwn = head?.createdAt === createdAt.toISOString();
  if (isItsOwn) return { status: head.status, headers: head.headers, body };
  return { headers: location === null ? {} : { location }, body };
}

/** Gives an answer the status and the headers of a stored one, and returns its body as it is sent. */
export function restore({ status, headers, body }: StoredAnswer, response: Response): JsonText | undefined {
  if (status !== undefined) response.statusCode = status;
  for (const [name, content] of Object.entries(headers)) response.setHeader(name, content);
  response.setHeader('Idempotency-Replayed', 'true');
  return body === '' ? undefined : new JsonText(body);
}

/** @throws Error for what is not sent as JSON, and so could not be given again as it was */
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
