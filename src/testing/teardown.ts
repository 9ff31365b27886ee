import { rmSync } from 'node:fs';

/** What the setup has started. */
interface Left {
  testPostgres?: { stop(): Promise<void> };
  testFolder: string;
}

/** Stops the PostgreSQL of the tests, and removes what they left. */
export default async function tearDown(): Promise<void> {
  const { testPostgres, testFolder } = globalThis as unknown as Left;
  await testPostgres?.stop();
  rmSync(testFolder, { recursive: true, force: true });
}
