// Before auth, which reads the list of permissions that features declare.
import '../../features.js';
import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module.js';
import { Config } from '../../config.js';
import { AuditModule, ClosingModule, LimitsModule } from '../../platform/safeguards/index.js';
import { DataModule } from '../../platform/data/index.js';
import { commandOptions, DatabaseModule } from '../../platform/database/index.js';
import { JobsModule } from '../../platform/jobs/index.js';
import { EnvironmentModule } from '../../environment.module.js';

/** The part of the service that is needed to manage accounts and keys. */
@Module({
  imports: [
    DataModule,
    DatabaseModule.with(commandOptions),
    AuditModule,
    ClosingModule,
    LimitsModule,
    JobsModule,
    AuthModule,
  ],
})
export class AdminModule {
  /** Operators are not limited, so Redis is not used. */
  static with(config: Config): DynamicModule {
    const own = Object.assign(new Config(), config, { REDIS_URL: undefined });
    return { module: AdminModule, imports: [EnvironmentModule.with(own)] };
  }
}
