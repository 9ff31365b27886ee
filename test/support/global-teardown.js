import { rmSync } from 'node:fs';

/** Stops the PostgreSQL of the tests, and removes what they left. */
export default async function tearDown() {
  await globalThis.testPostgres?.stop();
  rmSync(globalThis.testFolder, { recursive: true, force: true });
}
