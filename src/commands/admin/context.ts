import { type INestApplicationContext, type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthModule } from '../../auth/auth.module.js';
import { Config } from '../../config.js';
import { EnvironmentModule } from '../../environment.module.js';
import { DataModule } from '../../platform/data/index.js';
import { commandOptions, DatabaseModule } from '../../platform/database/index.js';
import { JobsModule } from '../../platform/jobs/index.js';
import { AuditModule, ClosingModule, LimitsModule } from '../../platform/safeguards/index.js';

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
class AdminModule {}

/**
 * Runs work on the accounts and keys of a migrated database, without serving HTTP.
 * @param logger becomes that of the whole process; none by default
 */
export async function withContext<Result>(
  config: Config,
  work: (app: INestApplicationContext) => Promise<Result>,
  logger: LoggerService | false = false,
): Promise<Result> {
  // Operators are not limited, so Redis is not used.
  const own = Object.assign(new Config(), config, { REDIS_URL: undefined });
  const module = { module: AdminModule, imports: [EnvironmentModule.with(own)] };
  const app = await NestFactory.createApplicationContext(module, { abortOnError: false, logger });
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}
