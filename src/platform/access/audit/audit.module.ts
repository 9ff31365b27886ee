import { Global, Module } from '@nestjs/common';
import { DataModule } from '../../data/index.js';
import { AuditLog } from './audit-log.js';
import { AuditRecord } from './audit-record.entity.js';

/** Gives every module the audit log. */
@Global()
@Module({
  imports: [DataModule.forFeature([AuditRecord])],
  providers: [AuditLog],
  exports: [AuditLog],
})
export class AuditModule {}
