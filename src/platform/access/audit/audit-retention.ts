import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Config } from '../../../config.js';
import { Sweeps } from '../../data/index.js';
import { AuditRecord } from './audit-record.entity.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Removes records that are older than the operator keeps them. Commands do not. */
@Injectable()
export class AuditRetention implements OnApplicationBootstrap {
  constructor(
    private readonly config: Config,
    private readonly sweeps: Sweeps,
  ) {}

  onApplicationBootstrap(): void {
    const kept = this.config.AUDIT_RETENTION_DAYS * DAY_MS;
    this.sweeps.start(AuditRecord, () => ({ before: { createdAt: new Date(Date.now() - kept) } }));
  }
}
