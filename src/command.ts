import { loadConfig, StartupError } from './config.js';
import { reachDatabase } from './database/embedded/reach.js';
import type { OpenDatabase } from './database/open.js';

/** Ends the process with 1; an error that is meant for the operator is told in one line. */
export function fail(error: unknown): never {
  console.error(error instanceof StartupError ? `petstore: ${error.message}` : error);
  process.exit(1);
}

/**
 * Runs a program that does one thing with the database and ends, with 1 where it has failed.
 * @param open gives the database; left out, one that the service has used
 */
export async function runCommand(
  work: (database: OpenDatabase) => Promise<void>,
  open = reachDatabase,
): Promise<void> {
  // The first process of a container gets no signal that it does not ask for, and an embedded database has to end too.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
  try {
    const database = await open(loadConfig());
    try {
      await work(database);
    } finally {
      await database.close();
    }
  } catch (error) {
    fail(error);
  }
}
