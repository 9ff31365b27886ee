import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'petstore_';
const FORMAT = /^petstore_([\da-f]{40})([\da-f]{8})$/;

/**
 * A new API key: a prefix that people and secret scanners recognize, 160 random bits, and a CRC-32 of these, all in
 * hexadecimal, so that a double click selects the whole.
 */
export function newSecretKey(): string {
  const random = randomBytes(20).toString('hex');
  return PREFIX + random + checksum(random);
}

/** Whether a text can be an API key at all, so that a mistyped one costs no query. */
export function isSecretKey(text: string): boolean {
  const [, random, sum] = FORMAT.exec(text) ?? [];
  return random !== undefined && checksum(random) === sum;
}

/** What is stored of a key. SHA-256 without salt or cost is enough: nobody can guess 160 random bits. */
export function hashSecretKey(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}

function checksum(random: string): string {
  return crc32(random).toString(16).padStart(8, '0');
}
