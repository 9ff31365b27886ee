import { type INestApplicationContext, type LoggerService, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { AuthModule } from '../../auth/auth.module.js';
import { Config } from '../../config.js';
import { DataModule } from '../../platform/data/index.js';
import { commandOptions, DatabaseModule } from '../../platform/database/index.js';
import { JobsModule } from '../../platform/jobs/index.js';
import { StartBlock } from '../../platform/process/index.js';
import { AuditModule, ClosingModule, LimitsModule } from '../../platform/safeguards/index.js';

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
 * Runs work on the accounts and keys of a migrated database, without HTTP.
 * @param logger becomes the logger of the process; none by default
 */
export async function withContext<Result>(
  config: Config,
  work: (app: INestApplicationContext) => Promise<Result>,
  logger: LoggerService | false = false,
): Promise<Result> {
  // No limits apply to operators, so Redis is not needed.
  const withoutRedis = Object.assign(new Config(), config, { REDIS_URL: undefined });
  const environment = { provide: Config, useValue: withoutRedis };
  const module = {
    module: AdminModule,
    global: true,
    providers: [environment, StartBlock],
    exports: [Config, StartBlock],
  };
  const app = await NestFactory.createApplicationContext(module, { abortOnError: false, logger });
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}
