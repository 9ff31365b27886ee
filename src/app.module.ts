import { type DynamicModule, Module, type OnModuleInit } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, ModulesContainer } from '@nestjs/core';
import { AuthGuard } from './auth/auth.guard.js';
import { AuthModule } from './auth/auth.module.js';
import { Config } from './config.js';
import { PRODUCT } from './document.js';
import type { Parts } from './load-features.js';
import {
  AuditModule,
  AuditRetention,
  ClosingModule,
  IdempotencyModule,
  LimitsModule,
} from './platform/safeguards/index.js';
import { DtoPipe, interceptBodies, requireSound } from './platform/api/index.js';
import { DataModule } from './platform/data/index.js';
import { DatabaseModule, poolOptions } from './platform/database/index.js';
import { ProductFacts } from './platform/docs/index.js';
import { Features } from './platform/features/index.js';
import { JobsModule, JobWorkersModule } from './platform/jobs/index.js';
import { BODY_READER, ErrorFilter, ObservabilityModule } from './platform/http/index.js';
import { StartBlock } from './platform/process/index.js';
import type { Log } from './platform/telemetry/index.js';

/** The root module of the service. */
@Module({
  providers: [
    AuditRetention,
    // Every request passes these in this order, and `BODY_READER` after the guards.
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
export class AppModule implements OnModuleInit {
  /** @throws as `Features.requireKnown` does */
  constructor(
    private readonly modules: ModulesContainer,
    private readonly config: Config,
    private readonly features: Features,
    private readonly product: ProductFacts,
  ) {
    features.requireKnown(modules);
    interceptBodies(modules, BODY_READER);
  }

  /** @throws as `requireSound` does */
  onModuleInit(): void {
    const tags = { ...this.product.tags, ...this.features.tags };
    requireSound(this.modules, tags, this.config.OPERATION_MAX_SECONDS);
  }

  static with(config: Config, log: Log, { features, product }: Parts): DynamicModule {
    return {
      module: AppModule,
      // Every module may inject the configuration.
      global: true,
      imports: [
        AuthModule,
        ...features.modules,
        AuditModule,
        ClosingModule,
        IdempotencyModule,
        LimitsModule,
        JobWorkersModule,
        JobsModule,
        DataModule,
        DatabaseModule.with(poolOptions, features.migrations),
        ObservabilityModule.with(log),
      ],
      providers: [
        { provide: Config, useValue: config },
        StartBlock,
        { provide: Features, useValue: features },
        { provide: ProductFacts, useValue: Object.assign({}, PRODUCT, product) },
      ],
      exports: [Config, StartBlock],
    };
  }
}
