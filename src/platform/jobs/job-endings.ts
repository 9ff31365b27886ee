import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { made, settled, Transactions } from '../data/index.js';
import { FAILED_FOR_SECONDS } from './boss.js';
import { JobQueues } from './job-queues.js';
import type { Ending } from './job.js';

/** How often, and how many milliseconds apart, an ending is recorded while that fails. */
const RECORD = { tries: 10, pauseMs: 1_000 };

/**
 * One statement for tries with different endings, for which pg-boss has a call each. It leaves alone a job that another
 * worker has taken over meanwhile, which has another retry count then.
 */
const END = `
  UPDATE pgboss.job SET
    state = ending.state::pgboss.job_state,
    completed_on = CASE WHEN ending.state <> 'retry' THEN now() END,
    start_after = CASE WHEN ending.state = 'retry' THEN now() + ending.pause * interval '1 second' ELSE start_after END,
    deletion_seconds = CASE WHEN ending.state = 'failed' THEN ${FAILED_FOR_SECONDS} ELSE deletion_seconds END,
    data = CASE WHEN ending."failingSince" IS NULL THEN data
      ELSE coalesce(nullif(data, 'null'), '{}') || jsonb_build_object('failingSince', ending."failingSince") END,
    output = CASE WHEN ending.reason IS NOT NULL THEN jsonb_build_object('reason', ending.reason) END,
    heartbeat_on = NULL
  FROM json_to_recordset($1::json) AS ending
    (queue text, id uuid, "retryCount" int, state text, pause float8, "failingSince" text, reason text)
  WHERE job.name = ending.queue AND job.id = ending.id
    AND job.state = 'active' AND job.retry_count = ending."retryCount"`;

/**
 * Records what has become of tries, together with what their queues record of it: after a crash in between, both are as
 * they were, and the job is tried again. Those that end at the same time share a transaction.
 */
@Injectable()
export class JobEndings {
  constructor(
    private readonly transactions: Transactions,
    private readonly queues: JobQueues,
  ) {}

  /** Records one. @throws what the database throws; the job is then still held */
  add(ending: Ending): Promise<void> {
    const { transactions } = this;
    return transactions.group('jobs that end', async () => {
      const calls = transactions.gathered<Ending, void>(transactions.connection, this, async (endings) => {
        await this.addAll(endings);
        return made(endings.map(() => undefined));
      });
      await transactions.written(() => (calls ? calls.add(ending) : this.addAll([ending])));
    });
  }

  /**
   * Records one, also if the database is away for a while. False if it cannot be recorded: without a sign of life the job
   * will be tried again.
   * @param isHeld whether the worker still has the job
   */
  async record(ending: Ending, isHeld: () => boolean, failed: (error: Error) => void): Promise<boolean> {
    for (let tries = 1; isHeld(); tries++) {
      try {
        await this.add(ending);
        return true;
      } catch (error) {
        failed(error as Error);
        if (tries === RECORD.tries) return false;
        await sleep(RECORD.pauseMs);
      }
    }
    return false;
  }

  private async addAll(endings: Ending[]): Promise<void> {
    const jobs = endings.map((ending) => {
      const isKeptElsewhere = ending.state === 'failed' && this.queues.get(ending.queue).record;
      return { ...ending, state: isKeptElsewhere ? 'completed' : ending.state, result: undefined };
    });
    const records = [...Map.groupBy(endings, ({ queue }) => queue)].map(([queue, own]) =>
      this.queues.get(queue).record?.(own),
    );
    await settled([this.transactions.connection.query(END, [JSON.stringify(jobs)]), ...records]);
  }
}
