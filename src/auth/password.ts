import { argon2, type Argon2Parameters, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { ApiError } from '../platform/api/api-error.js';

/** OWASP Password Storage Cheat Sheet: Argon2id with 19 MiB (in KiB here), two passes, one lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

const argon2id = promisify(argon2) as (
  algorithm: 'argon2id',
  parameters: Argon2Parameters,
) => Promise<Buffer>;

/** Limit on passwords being hashed or queued for it. More would wait longer than a client does, at 19 MiB each. */
const MAX_PENDING = 64;
let pending = 0;

/** @throws ApiError `service_unavailable` if too many are waiting already */
async function derive(parameters: Argon2Parameters): Promise<Buffer> {
  if (pending >= MAX_PENDING) throw new ApiError('service_unavailable');
  pending++;
  try {
    return await argon2id('argon2id', parameters);
  } finally {
    pending--;
  }
}

/** Hashes a password into the PHC string format, with its salt and cost. Takes about 36 ms in the thread pool. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const tag = await derive({ ...COST, message: password, nonce: salt });
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${base64(salt)}$${base64(tag)}`;
}

/** Whether a password matches a hash. Without a hash it takes as long and returns false. */
export async function verifyPassword(password: string, hash: string | undefined): Promise<boolean> {
  const [, memory, passes, parallelism, salt, tag] = PHC.exec(hash ?? '') ?? [];
  if (!salt || !tag) {
    await hashPassword(password);
    return false;
  }
  const expected = Buffer.from(tag, 'base64');
  const actual = await derive({
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
    message: password,
    nonce: Buffer.from(salt, 'base64'),
  });
  return timingSafeEqual(actual, expected);
}

/** The PHC string format uses Base64 without padding. */
function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
