import type { Response } from 'express';
import type { OperationFacts } from '../../api/operation-facts.js';
import { JsonText } from '../../api/serializer.js';
import type { IdempotencyKey } from './idempotency-key.entity.js';

/** An answer as it is stored; its body is empty if it has none. */
export type StoredAnswer = Pick<IdempotencyKey, 'location' | 'body'>;

/** An answer as it is given: for the first time, or again. */
export interface GivenAnswer {
  answer: StoredAnswer;
  isReplayed: boolean;
}

/** What a method has returned, and the `Location` that it has set. */
export function answerToStore(operation: OperationFacts, value: unknown, response: Response): StoredAnswer {
  return { location: response.get('Location') ?? null, body: textOf(operation, value) };
}

/** Sets the headers of an answer, and returns its body as it is sent. */
export function give({ answer, isReplayed }: GivenAnswer, response: Response): JsonText | undefined {
  if (answer.location !== null) response.setHeader('Location', answer.location);
  if (isReplayed) response.setHeader('Idempotency-Replayed', 'true');
  return answer.body === '' ? undefined : new JsonText(answer.body);
}

/** @throws Error for what is not sent as JSON, and so could not be given again as it was */
function textOf({ id, serialize }: OperationFacts, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (serialize) return serialize(value).text;
  if (typeof value === 'object') return JSON.stringify(value);
  throw new Error(`${id} is idempotent, and returns a ${typeof value} instead of an object`);
}
