import { isUUID } from 'class-validator';
import { InvalidArgumentError } from 'commander';

/** Adds a UUID to those before it. @throws InvalidArgumentError */
export function parseIds(text: string, before: string[] = []): string[] {
  if (!isUUID(text, 'loose')) throw new InvalidArgumentError('Not a UUID.');
  return [...before, text.toLowerCase()];
}

/** An integer from 1 to 999,999. @throws InvalidArgumentError */
export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('Must be an integer from 1 to 999999.');
  return Number(text);
}
