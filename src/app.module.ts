import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuthGuard } from './auth/auth.guard.js';
import { AuthModule } from './auth/auth.module.js';
import { CategoriesModule } from './categories/categories.module.js';
import { BodyGuard } from './common/body.guard.js';
import { Clock } from './common/clock.js';
import { CommonModule } from './common/common.module.js';
import { ErrorFilter } from './common/error.filter.js';
import { ValidationPipe } from './common/validation.pipe.js';
import type { Config } from './config.js';
import { DatabaseModule } from './database/database.module.js';
import { HealthModule } from './health/health.module.js';
import { IdempotencyModule } from './idempotency/idempotency.module.js';
import { LimitsModule } from './limits/limits.module.js';
import { MessagesModule } from './messages/messages.module.js';
import type { Log } from './observability/log.js';
import { ObservabilityModule } from './observability/observability.module.js';
import { PetsModule } from './pets/pets.module.js';
import { SiteModule } from './site/site.module.js';
import { StoreModule } from './store/store.module.js';

/** The features, and what every request goes through, in this order. */
@Module({
  imports: [
    AuthModule,
    PetsModule,
    CategoriesModule,
    StoreModule,
    MessagesModule,
    HealthModule,
    SiteModule,
    IdempotencyModule,
    LimitsModule,
  ],
  providers: [
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_GUARD, useClass: BodyGuard },
    { provide: APP_PIPE, useClass: ValidationPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class AppModule {
  static with(config: Config, log: Log, clock = new Clock()): DynamicModule {
    const imports = [CommonModule.with(config, clock), ObservabilityModule.with(config, log), DatabaseModule];
    return { module: AppModule, imports };
  }
}
