import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { QUEUE } from './queue.js';

/** The messages that wait, for their first try or a further one. */
export interface Backlog {
  queued: number;
  /** Seconds since the oldest of them was accepted; 0 where none waits. */
  oldestSeconds: number;
}

/** The condition is that of pg-boss's own index of waiting jobs, so what has been delivered costs nothing here. */
const BACKLOG = `
  SELECT count(*)::int AS queued,
    coalesce(extract(epoch FROM now() - min(created_on)), 0)::float8 AS "oldestSeconds"
  FROM pgboss.job WHERE name = $1 AND state < 'active' AND NOT blocked`;

/** Figures of the delivery: those that this process counts, and those that the database knows for all. */
@Injectable()
export class DeliveryMetrics {
  /** Messages that this process has delivered since its start. */
  delivered = 0;
  /** Messages that this process has given up since its start. */
  failed = 0;

  constructor(private readonly database: DataSource) {}

  async backlog(): Promise<Backlog> {
    const [backlog] = await this.database.query<[Backlog]>(BACKLOG, [QUEUE]);
    return backlog;
  }
}
