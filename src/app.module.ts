import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuthGuard } from './auth/auth.guard.js';
import { AuthModule } from './auth/auth.module.js';
import { LateBodyGuard } from './auth/late-body.guard.js';
import { CategoriesModule } from './categories/categories.module.js';
import type { Config } from './config.js';
import { MessagesModule } from './messages/messages.module.js';
import { PetsModule } from './pets/pets.module.js';
import { AuditModule } from './platform/access/audit/audit.module.js';
import { AuditRetention } from './platform/access/audit/audit-retention.js';
import { ClosingModule } from './platform/access/closing/closing.module.js';
import { IdempotencyModule } from './platform/access/idempotency/idempotency.module.js';
import { LimitsModule } from './platform/access/limits/limits.module.js';
import { ValidationPipe } from './platform/api/validation.pipe.js';
import { DataModule } from './platform/data/data.module.js';
import { poolOptions } from './platform/database/connection-options.js';
import { DatabaseModule } from './platform/database/database.module.js';
import { JobsModule, JobWorkersModule } from './platform/jobs/jobs.module.js';
import { SiteModule } from './platform/docs/site/site.module.js';
import type { Clock } from './platform/process/clock.js';
import { EnvironmentModule } from './platform/process/environment.module.js';
import { BodyGuard } from './platform/server/body.guard.js';
import { ErrorFilter } from './platform/server/error.filter.js';
import { HealthModule } from './platform/server/health.module.js';
import { ObservabilityModule } from './platform/server/observability.module.js';
import type { Log } from './platform/telemetry/log.js';
import { StoreModule } from './store/store.module.js';

/** The service. Its features stand in the order that they have in the OpenAPI document. */
@Module({
  imports: [
    AuthModule,
    PetsModule,
    CategoriesModule,
    StoreModule,
    MessagesModule,

    HealthModule,
    SiteModule,
    AuditModule,
    ClosingModule,
    IdempotencyModule,
    LimitsModule,
    JobWorkersModule,
    JobsModule,
    DataModule,
    DatabaseModule.with(poolOptions),
  ],
  providers: [
    AuditRetention,
    // What every request passes through, in this order.
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_GUARD, useClass: BodyGuard },
    { provide: APP_GUARD, useClass: LateBodyGuard },
    { provide: APP_PIPE, useClass: ValidationPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class AppModule {
  /** @param clock another date, for tests */
  static with(config: Config, log: Log, clock?: Clock): DynamicModule {
    const imports = [EnvironmentModule.with(config, clock), ObservabilityModule.with(config, log)];
    return { module: AppModule, imports };
  }
}
