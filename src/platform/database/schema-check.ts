import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { asker } from './asker.js';
import { Connections } from './connections.js';
import { loadMigrations } from './migrations.js';

/** Milliseconds for which an answer is good for all who ask. Probes are a second or more apart. */
const KEPT_MS = 1_000;

/** Milliseconds after which the database counts as away, whatever it is that waits. */
const PATIENCE_MS = 2_000;

/** A standby is in recovery; a server with a full disk, or one being replaced, may be set to read only. */
const STATE = `
  SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool AS "isReadOnly",
    array(SELECT name FROM migrations) AS applied`;

/** Whether the database can serve this build: it answers, can be written, and has every migration. */
@Injectable()
export class SchemaCheck {
  private names?: Promise<string[]>;
  private problem?: Promise<string | undefined>;
  private keptUntil = -Infinity;

  constructor(private readonly database: DataSource) {}

  /** The host in use, as `host:port`, if the URL names several. */
  get host(): string | undefined {
    return Connections.of(this.database).hosts?.current?.name;
  }

  /**
   * Queries the database at most once a second, for all who ask meanwhile.
   * @returns what is wrong with the database; more migrations are not: a newer release has prepared it
   * @throws what the database throws
   */
  findProblem(): Promise<string | undefined> {
    if (this.problem && performance.now() < this.keptUntil) return this.problem;
    // Until it has an answer, the present question is that of all.
    this.keptUntil = Infinity;
    this.problem = Promise.race([asker.run(undefined, () => this.ask()), giveUp()]);
    const keep = () => void (this.keptUntil = performance.now() + KEPT_MS);
    this.problem.then(keep, keep);
    return this.problem;
  }

  private async ask(): Promise<string | undefined> {
    this.names ??= loadMigrations().then((migrations) => migrations.map(({ name }) => name));
    const [state] = await this.database.query<[{ isReadOnly: boolean; applied: string[] }]>(STATE);
    if (state.isReadOnly) return 'the database cannot be written';
    const missing = (await this.names).filter((name) => !state.applied.includes(name));
    return missing.length > 0 ? `the database lacks ${missing.join(', ')}` : undefined;
  }
}

async function giveUp(): Promise<string> {
  await sleep(PATIENCE_MS, undefined, { ref: false });
  return `the database has not answered within ${PATIENCE_MS} ms`;
}
