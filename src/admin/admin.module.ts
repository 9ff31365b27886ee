import { type DynamicModule, Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { Clock } from '../common/clock.js';
import { CommonModule } from '../common/common.module.js';
import { Config } from '../config.js';
import { DatabaseModule } from '../database/database.module.js';
import { LimitsModule } from '../limits/limits.module.js';

/** The part of the service that is needed to manage accounts and keys. */
@Module({ imports: [DatabaseModule, LimitsModule, AuthModule] })
export class AdminModule {
  /** Operators are not limited, so Redis is not used. */
  static with(config: Config): DynamicModule {
    const own = Object.assign(new Config(), config, { DATABASE_POOL_SIZE: 1, REDIS_URL: undefined });
    return { module: AdminModule, imports: [CommonModule.with(own, new Clock())] };
  }
}
