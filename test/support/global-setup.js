import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedPostgres } from '../../dist/src/platform/database/embedded/embedded-postgres.js';

/** Starts the PostgreSQL of the tests, as the built service starts its own, and a log of the tests' exchanges. */
export default async function setUp({ testPathPatterns, testNamePattern, onlyChanged, onlyFailures, shard }) {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  const { postgres, url } = await EmbeddedPostgres.start(folder);
  process.env.TEST_DATABASE_URL = url;
  process.env.TEST_EXCHANGES = join(folder, 'exchanges.txt');
  const isPart =
    testPathPatterns.patterns.length > 0 || testNamePattern || onlyChanged || onlyFailures || shard;
  if (!isPart) process.env.TEST_ALL_FILES = 'yes';
  Object.assign(globalThis, { testPostgres: postgres, testFolder: folder });
}
