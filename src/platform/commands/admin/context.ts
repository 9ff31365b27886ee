import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Config } from '../../../config.js';
import { AdminModule } from './admin.module.js';

/** Runs work on the accounts and keys of a migrated database, without serving HTTP. */
export async function withContext<Result>(
  config: Config,
  work: (app: INestApplicationContext) => Promise<Result>,
): Promise<Result> {
  const options = { abortOnError: false, logger: false } as const;
  const app = await NestFactory.createApplicationContext(AdminModule.with(config), options);
  try {
    return await work(app);
  } finally {
    await app.close();
  }
}
