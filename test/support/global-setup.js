import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedPostgres } from '../../dist/src/platform/database/embedded/embedded-postgres.js';

/** Starts the PostgreSQL of the tests, as the built service starts its own. */
export default async function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  const { postgres, url } = await EmbeddedPostgres.start(folder);
  process.env.TEST_DATABASE_URL = url;
  // Services start hundreds of times.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
  Object.assign(globalThis, { testPostgres: postgres, testFolder: folder });
}
