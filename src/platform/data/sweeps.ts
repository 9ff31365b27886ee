import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import { getDataSourceToken } from '@nestjs/typeorm';
import type { DataSource, EntityTarget, ObjectLiteral } from 'typeorm';
import { type Old, sweep } from './sweep.js';

const INTERVAL_MS = 10 * 60 * 1000;

/** Sweeps tables at the start of the service, and then every ten minutes. Every instance may do so at any time. */
@Injectable()
export class Sweeps implements BeforeApplicationShutdown {
  private readonly logger = new Logger(Sweeps.name);
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>[] = [];

  constructor(@Inject(getDataSourceToken()) private readonly database: DataSource) {}

  /** Deletes, until the service stops, the rows of a table that are old at the time, as `sweep` does. */
  start<Entity extends ObjectLiteral>(target: EntityTarget<Entity>, old: () => Old<Entity>): void {
    this.running.push(this.run(target, old));
  }

  /** Before the connections are closed, which a sweep that is under way still needs. */
  async beforeApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }

  private async run<Entity extends ObjectLiteral>(
    target: EntityTarget<Entity>,
    old: () => Old<Entity>,
  ): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await sweep(this.database, target, old(), signal).catch((error: Error) => {
        const { tableName } = this.database.getMetadata(target);
        this.logger.warn(`Old rows of ${tableName} were not swept: ${error.message}`);
      });
      await sleep(INTERVAL_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }
}
