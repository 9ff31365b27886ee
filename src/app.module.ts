import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE } from '@nestjs/core';
import { AuthGuard } from './auth/auth.guard.js';
import { BodyGuard } from './http/body.guard.js';
import { Clock } from './common/clock.js';
import { CommonModule } from './common/common.module.js';
import { ErrorFilter } from './http/error.filter.js';
import { ValidationPipe } from './common/validation.pipe.js';
import type { Config } from './config.js';
import { DatabaseModule } from './database/database.module.js';
import type { Log } from './observability/log.js';
import { ObservabilityModule } from './observability/observability.module.js';

/**
 * The features, in the order of the OpenAPI document; the last ones have no operations. They are imported here so that
 * a feature is one line instead of two. Every export of such a file is a module.
 */
const FEATURES = await Promise.all([
  import('./auth/auth.module.js'),
  import('./pets/pets.module.js'),
  import('./categories/categories.module.js'),
  import('./store/store.module.js'),
  import('./messages/messages.module.js'),
  import('./health/health.module.js'),
  import('./site/site.module.js'),
  import('./idempotency/idempotency.module.js'),
  import('./limits/limits.module.js'),
]);

/** What every request passes through, in this order. */
@Module({
  imports: FEATURES.flatMap((feature) => Object.values<Type>(feature)),
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
