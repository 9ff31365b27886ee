import assert from 'node:assert/strict';
import type { Answer } from '../../src/testing/client.js';

/** Expects that all requests of `send`, with one key, are refused within a second, and get 200 until then. */
export async function expectRevoked(send: () => Promise<Answer[]>): Promise<void> {
  const revoked = Date.now();
  for (let sentAt = revoked, isAccepted = true; isAccepted; sentAt = Date.now()) {
    const statuses = (await send()).map(({ status }) => status);
    assert.deepEqual(
      statuses.filter((status) => ![200, 401, 403].includes(status)),
      [],
    );
    isAccepted = statuses.includes(200);
    assert(
      !isAccepted || sentAt - revoked < 1_000,
      `A request ${sentAt - revoked} ms after the answer was accepted`,
    );
  }
}
