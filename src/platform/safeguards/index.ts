export { type AuditFilter, AuditLog, AuditModule, AuditRetention, type Change } from './audit-log.js';
export { AuditRecord } from './audit-record.entity.js';
export { AccountClosing, ClosingModule } from './account-closing.js';
export { IdempotencyModule, Idempotent } from './idempotent.js';
export { AuthLimiter, KeyLimiter, LimitsModule } from './limiter.js';
