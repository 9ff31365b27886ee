import { argon2, type Argon2Parameters, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { ApiError } from 'petstore/platform';
import { FairQueue, type Requester } from '../platform/process/index.js';

/** OWASP Password Storage Cheat Sheet: Argon2id with 19 MiB (in KiB here), two passes, one lane. */
const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
/** Of the PHC string format. */
const BASE64 = { omitPadding: true };
const PHC = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([\w+/]+)\$([\w+/]+)$/;

const argon2id = promisify(argon2) as (
  algorithm: 'argon2id',
  parameters: Argon2Parameters,
) => Promise<Buffer>;

/**
 * Two of the four threads of Node's pool: files, the names of hosts and the log-in to the database need the others. More
 * than 64 would wait longer than a client does.
 */
const queue = new FairQueue({
  concurrency: 2,
  waiting: 64,
  waitMs: 2_000,
  refusal: () =>
    new ApiError('service_unavailable', undefined, { cause: new Error('Too many passwords are waiting.') }),
});

/** A command of the operator, which nobody else waits behind. */
const OPERATOR: Requester = { lane: '', isGone: () => false };

/** @throws ApiError `service_unavailable` if too many are waiting already */
function derive(parameters: Argon2Parameters, requester: Requester): Promise<Buffer> {
  return queue.run(requester, () => argon2id('argon2id', parameters));
}

/** Hashes a password into the PHC string format, with its salt and cost. Takes about 36 ms in the thread pool. */
export async function hashPassword(password: string, requester = OPERATOR): Promise<string> {
  const salt = randomBytes(16);
  const tag = await derive({ ...COST, message: password, nonce: salt }, requester);
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${salt.toBase64(BASE64)}$${tag.toBase64(BASE64)}`;
}

/** Whether a password matches a hash. Without a hash it takes as long and returns false. */
export async function verifyPassword(
  password: string,
  hash: string | undefined,
  requester: Requester,
): Promise<boolean> {
  const [, memory, passes, parallelism, salt, tag] = PHC.exec(hash ?? '') ?? [];
  if (!salt || !tag) {
    await hashPassword(password, requester);
    return false;
  }
  const expected = Buffer.from(tag, 'base64');
  const parameters = {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
    message: password,
    nonce: Buffer.from(salt, 'base64'),
  };
  const actual = await derive(parameters, requester);
  return timingSafeEqual(actual, expected);
}
