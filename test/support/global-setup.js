import { execFile } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgres } from '../../dist/src/platform/database/embedded/embedded-postgres.js';

const SERVICE = new URL('../../dist/src/platform/commands/serve/boot.js', import.meta.url).href;

/** Starts the PostgreSQL of the tests, as the built service starts its own. */
export default async function setUp() {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  const { postgres, url } = await EmbeddedPostgres.start(folder);
  process.env.TEST_DATABASE_URL = url;
  // Services start hundreds of times. One fills the cache: of those that find it empty, each would write all of it when
  // it ends, which takes seconds when they are many.
  process.env.NODE_COMPILE_CACHE = join(folder, 'compiled');
  await promisify(execFile)(process.execPath, ['--eval', `import('${SERVICE}')`]);
  Object.assign(globalThis, { testPostgres: postgres, testFolder: folder });
}
