export { type AuditFilter, AuditLog, AuditModule, AuditRetention, type Change } from './audit/audit-log.js';
export { AuditRecord } from './audit/audit-record.entity.js';
export { AccountClosing, ClosingModule } from './closing/account-closing.js';
export { IdempotencyModule } from './idempotency/idempotency.service.js';
export { Idempotent } from './idempotency/idempotent.decorator.js';
export { AuthLimiter, KeyLimiter, LimitsModule } from './limits/limiter.js';
