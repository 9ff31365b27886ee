import type { Socket } from 'node:net';

/** Has the PostgreSQL of the tests end, and what they left removed, which takes seconds, and which nobody waits for. */
export default function tearDown(): void {
  (globalThis as unknown as { testsRemain: Socket }).testsRemain.end();
}
