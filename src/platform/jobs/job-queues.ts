import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { DiscoveryService, MetadataScanner, ModulesContainer } from '@nestjs/core';
import { PgBoss, type QueueOptions } from 'pg-boss';
import { DataSource } from 'typeorm';
import { Transactions } from '../data/index.js';
import { QUEUE_OPTIONS } from './boss.js';
import { queueOf } from './handles-job.decorator.js';
import type { JobQueue } from './job.js';

/** The queues of this service: those that features have declared, by `declare` or by decorators. */
@Injectable()
export class JobQueues implements OnApplicationBootstrap {
  /** For what is not part of maintaining queues. */
  readonly boss: PgBoss;
  private readonly queues = new Map<string, JobQueue>();

  constructor(
    private readonly modules: ModulesContainer,
    database: DataSource,
  ) {
    this.boss = new PgBoss({
      // In the open transaction, as it may be asked there: a second connection could be one too many.
      db: { executeSql: async (...sql) => ({ rows: await Transactions.of(database).manager.query(...sql) }) },
    });
  }

  get all(): JobQueue[] {
    return [...this.queues.values()];
  }

  /** Adds a queue, in the constructor of a provider. @throws Error if there is one with its name */
  declare(queue: JobQueue): void {
    if (this.queues.has(queue.name)) throw new Error(`There are two handlers of the jobs "${queue.name}"`);
    this.queues.set(queue.name, queue);
  }

  /** @throws Error if no feature has declared it */
  get(name: string): JobQueue {
    const queue = this.queues.get(name);
    if (!queue) throw new Error(`Nothing handles the jobs "${name}"`);
    return queue;
  }

  /** Creates what the database does not have yet: also those that only insert jobs need it. */
  async onApplicationBootstrap(): Promise<void> {
    this.discover();
    const found = await this.boss.getQueues([...this.queues.keys()]);
    const known = new Map(found.map((queue) => [queue.name, queue]));
    for (const name of this.queues.keys()) {
      const queue = known.get(name);
      if (!queue) await this.boss.createQueue(name, QUEUE_OPTIONS);
      else if (!isAsWanted(queue)) await this.boss.updateQueue(name, QUEUE_OPTIONS);
    }
  }

  private discover(): void {
    const scanner = new MetadataScanner();
    for (const { instance } of new DiscoveryService(this.modules).getProviders()) {
      const prototype: unknown = instance && typeof instance === 'object' && Object.getPrototypeOf(instance);
      if (!prototype) continue;
      for (const method of scanner.getAllMethodNames(prototype)) {
        const queue = queueOf(instance as object, method);
        if (queue) this.declare(queue);
      }
    }
  }
}

function isAsWanted(queue: QueueOptions): boolean {
  const options = Object.entries(QUEUE_OPTIONS) as [keyof QueueOptions, number][];
  return options.every(([name, value]) => queue[name] === value);
}
