import { argon2, type Argon2Parameters, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { ApiError } from 'petstore/platform';
import { Quota, type Requester } from '../platform/process/index.js';

/** OWASP Password Storage Cheat Sheet: Argon2id with 19 MiB (in KiB here), two passes, one lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
/** Of the PHC string format. */
const BASE64 = { omitPadding: true };
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

const argon2id = promisify(argon2) as (
  algorithm: 'argon2id',
  parameters: Argon2Parameters,
) => Promise<Buffer>;

/** Two of the four threads of Node's pool: files, the names of hosts and the log-in to the database need the others. */
const checks = new Quota(2);

/** Longer than that, no client would wait for what comes after. */
const WAIT_MS = 2_000;

const OPERATOR: Requester = { isGone: () => false };

/** @throws ApiError `service_unavailable` if it has waited too long for a thread, or nobody waits for the answer any more */
async function derive(parameters: Argon2Parameters, requester: Requester): Promise<Buffer> {
  const { caller } = requester;
  await checks.acquire(caller, WAIT_MS, tooMany);
  try {
    if (requester.isGone()) throw tooMany();
    return await argon2id('argon2id', parameters);
  } finally {
    checks.release(caller);
  }
}

function tooMany(): ApiError {
  return new ApiError('service_unavailable', undefined, {
    cause: new Error('Too many passwords are waiting.'),
  });
}

/**
 * Hashes a password into the PHC string format, with its salt and cost. Takes about 36 ms in the thread pool. The characters
 * count, and not how a keyboard has composed them (RFC 8265, 4.2.1).
 */
export async function hashPassword(password: string, requester = OPERATOR): Promise<string> {
  const salt = randomBytes(16);
  const message = password.normalize('NFC');
  const tag = await derive({ ...COST, message, nonce: salt }, requester);
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${salt.toBase64(BASE64)}$${tag.toBase64(BASE64)}`;
}

/**
 * Whether a password matches a hash. Without a hash it takes as long and returns false. Hashes of 1.x are of the text as it
 * was sent: one that is not in NFC gets a second try.
 */
export async function verifyPassword(
  password: string,
  hash: string | undefined,
  requester: Requester,
): Promise<boolean> {
  for (const message of new Set([password.normalize('NFC'), password]))
    if (await matches(message, hash, requester)) return true;
  return false;
}

async function matches(message: string, hash: string | undefined, requester: Requester): Promise<boolean> {
  const [, memory, passes, parallelism, salt, tag] = PHC.exec(hash ?? '') ?? [];
  if (!salt || !tag) {
    await hashPassword(message, requester);
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
  return timingSafeEqual(await derive(parameters, requester), expected);
}
