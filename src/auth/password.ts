import { argon2, type Argon2Parameters, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { ApiError } from 'petstore/platform';
import { currentWork, NOBODY, Quota } from '../platform/process/index.js';

/** OWASP Password Storage Cheat Sheet: Argon2id with 19 MiB (in KiB here), two passes, one lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
/** As in the PHC string format. */
const BASE64 = { omitPadding: true };
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

const argon2id = promisify(argon2) as (
  algorithm: 'argon2id',
  parameters: Argon2Parameters,
) => Promise<Buffer>;

/** Two of the four threads of Node's pool: files, DNS and the log-in to the database need the others. */
const checks = new Quota(2);

/** Milliseconds that an operator's command waits for a thread. */
const PATIENCE_MS = 2_000;
/** A wait for a thread ends this many milliseconds before the request's deadline, to leave time to answer. */
const MARGIN_MS = 900;

/** @throws ApiError `service_unavailable` if no thread is free in time */
async function derive(parameters: Argon2Parameters): Promise<Buffer> {
  const { payers, left } = currentWork.getStore() ?? { payers: NOBODY, left: PATIENCE_MS + MARGIN_MS };
  await checks.acquire(payers, Math.max(0, left - MARGIN_MS), tooMany);
  try {
    return await argon2id('argon2id', parameters);
  } finally {
    checks.release(payers);
  }
}

function tooMany(): ApiError {
  const cause = new Error('Too many passwords are waiting.');
  return new ApiError('service_unavailable', undefined, { cause });
}

/**
 * Hashes a password into the PHC string format, with its salt and cost, in about 36 ms of the thread pool. Normalises the
 * text, so that it does not matter how a keyboard composes characters (RFC 8265, 4.2.1).
 */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const message = password.normalize('NFC');
  const tag = await derive({ ...COST, message, nonce: salt });
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${salt.toBase64(BASE64)}$${tag.toBase64(BASE64)}`;
}

/** False without a hash, after the same time. Also tries the password as sent: 1.x did not normalize passwords to NFC. */
export async function verifyPassword(password: string, hash: string | undefined): Promise<boolean> {
  for (const message of new Set([password.normalize('NFC'), password]))
    if (await matches(message, hash)) return true;
  return false;
}

async function matches(message: string, hash: string | undefined): Promise<boolean> {
  const [, memory, passes, parallelism, salt, tag] = PHC.exec(hash ?? '') ?? [];
  if (!salt || !tag) {
    await hashPassword(message);
    return false;
  }
  const expected = Buffer.from(tag, 'base64');
  const parameters = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
    message,
    nonce: Buffer.from(salt, 'base64'),
  };
  return timingSafeEqual(await derive(parameters), expected);
}
