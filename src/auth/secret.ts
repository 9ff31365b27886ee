import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** Prefixes of API keys and invitations. */
export const KEYS = 'petstore_';
export const INVITATIONS = 'petstore_invitation_';

type Prefix = typeof KEYS | typeof INVITATIONS;

const AFTER_PREFIX = /^([\da-f]{40})([\da-f]{8})$/;

/** A new secret: a prefix that secret scanners recognise, 160 random bits and their CRC-32; a double click selects it all. */
export function newSecret(prefix: Prefix): string {
  const random = randomBytes(20).toString('hex');
  return prefix + random + checksum(random);
}

/** Whether a value has the form of such a secret, so that a mistyped secret costs no query. */
export function isSecret(prefix: Prefix, value: unknown): value is string {
  if (typeof value !== 'string' || !value.startsWith(prefix)) return false;
  const [, random, sum] = AFTER_PREFIX.exec(value.slice(prefix.length)) ?? [];
  return random !== undefined && checksum(random) === sum;
}

/** The stored hash of a secret. SHA-256 without salt or cost is enough: nobody can guess 160 random bits. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

function checksum(random: string): string {
  return crc32(random).toString(16).padStart(8, '0');
}
