import type { INestApplicationContext, LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Config } from '../../config.js';
import { AdminModule } from './admin.module.js';

/**
 * Runs work on the accounts and keys of a migrated database, without serving HTTP.
 * @param logger becomes that of the whole process; none by default
 */
export async function withContext<Result>(
  config: Config,
  work: (app: INestApplicationContext) => Promise<Result>,
  logger: LoggerService | false = false,
): Promise<Result> {
  const options = { abortOnError: false, logger };
  const app = await NestFactory.createApplicationContext(AdminModule.with(config), options);
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}
