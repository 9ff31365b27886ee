import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from '../../../auth/auth.module.js';
import { EnvironmentModule } from '../../process/environment.module.js';
import { Config } from '../../../config.js';
import { DataModule } from '../../data/data.module.js';
import { commandOptions } from '../../database/connection-options.js';
import { DatabaseModule } from '../../database/database.module.js';
import { AuditModule } from '../../access/audit/audit.module.js';
import { ClosingModule } from '../../access/closing/closing.module.js';
import { LimitsModule } from '../../access/limits/limits.module.js';
import { JobsModule } from '../../jobs/jobs.module.js';

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
