import { Global, Injectable, Module } from '@nestjs/common';
import { And, LessThan, MoreThan, MoreThanOrEqual } from 'typeorm';
import { Config } from '../../config.js';
import type { Actor } from '../api/index.js';
import {
  type Belonging,
  belonging,
  DataModule,
  FastRepository,
  goOn,
  InjectFastRepository,
  Transactions,
} from '../data/index.js';
import { type Job, Scheduled } from '../jobs/index.js';
import { AuditRecord } from './audit-record.entity.js';

export interface Change {
  by: Actor;
  /** The action, such as `order.approved`. */
  action: string;
  /** The id of the changed resource; left out if the account itself was changed. */
  subjectId?: string;
  /** Facts about the change; no secret and no personal text. */
  details?: object;
}

/** Filters records, which must meet all given conditions. */
export interface AuditFilter {
  accountId?: string;
  key?: string;
  action?: string;
  job?: string;
  request?: string;
  since?: Date;
  /** Exclusive. */
  until?: Date;
}

const PAGE = 1_000;

/** The record of who has changed what. */
@Injectable()
export class AuditLog {
  constructor(
    @InjectFastRepository(AuditRecord) private readonly records: FastRepository<AuditRecord>,
    private readonly transactions: Transactions,
  ) {}

  /** Records changes. Call this in the transaction of the changes, so that both or neither are stored. */
  async add(...changes: Change[]): Promise<void> {
    await goOn(this.transactions, () => this.records.addRows(changes.map(recordOf)));
  }

  /** The audit record of a new row, for its `insert(…).with(…)`. The row's id becomes the subject. */
  of(change: Omit<Change, 'subjectId'>): Belonging {
    const { subjectId: _id, ...record } = recordOf(change);
    return belonging(this.records, record, { subjectId: 'id' });
  }

  /** Reads records, oldest first. */
  async *read({ accountId, key: keyId, action, job, request: requestId, since, until }: AuditFilter) {
    const created = [...(since ? [MoreThanOrEqual(since)] : []), ...(until ? [LessThan(until)] : [])];
    const createdAt = created.length > 0 ? And(...created) : undefined;
    const conditions = Object.entries({ accountId, keyId, action, job, requestId, createdAt }).filter(
      ([, value]) => value,
    );
    for (let after = '0'; ;) {
      const where = { ...Object.fromEntries(conditions), id: MoreThan(after) };
      const page = await this.records.find({ where, order: { id: 'ASC' }, take: PAGE });
      yield* page;
      if (page.length < PAGE) return;
      after = page.at(-1)!.id;
    }
  }
}

function recordOf({ by, action, subjectId, details }: Change) {
  return {
    actor: actorOf(by),
    job: by.job ?? null,
    accountId: by.accountId ?? null,
    keyId: by.keyId ?? null,
    action,
    subjectId: subjectId ?? null,
    details: details ?? null,
    requestId: by.requestId ?? null,
    address: by.address ?? null,
  };
}

function actorOf({ isOperator, job }: Change['by']): AuditRecord['actor'] {
  if (isOperator) return 'operator';
  return job === undefined ? 'account' : 'job';
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Deletes records after `AUDIT_RETENTION_DAYS`. Not in `AuditModule`, because commands import that module too. */
@Injectable()
export class AuditRetention {
  constructor(
    private readonly config: Config,
    @InjectFastRepository(AuditRecord) private readonly records: FastRepository<AuditRecord>,
  ) {}

  @Scheduled('sweep-audit-log', '*/10 * * * *', { runsInEveryRole: true, concurrency: 1 })
  sweep(_payload: undefined, { signal }: Job): Promise<void> {
    const expiry = new Date(Date.now() - this.config.AUDIT_RETENTION_DAYS * DAY_MS);
    return this.records.sweep({ sql: 'created_at < $1', parameters: [expiry] }, 'createdAt', signal);
  }
}

const RECORDS = DataModule.forFeature([AuditRecord]);

@Global()
@Module({ imports: [RECORDS], providers: [AuditLog], exports: [AuditLog, RECORDS] })
export class AuditModule {}
