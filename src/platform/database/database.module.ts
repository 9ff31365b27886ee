import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Config } from '../../config.js';
import { MetricsModule } from '../telemetry/metrics.module.js';
import { CompiledDataSource, type CompiledDataSourceOptions } from '../data/compiled-data-source.js';
import { DatabaseMetrics } from './database-metrics.js';
import { poolOptions } from './connection-options.js';
import { warnOfMissingTimeouts } from './missing-timeouts.js';
import { SchemaCheck } from './schema-check.js';
import { Transactions } from '../data/transactions.js';

/** Connects TypeORM; each feature registers its own entities. */
@Global()
@Module({
  imports: [
    MetricsModule,
    TypeOrmModule.forRootAsync({
      inject: [Config],
      useFactory: (config: Config) => ({ ...poolOptions(config), autoLoadEntities: true, retryAttempts: 0 }),
      dataSourceFactory: async (options) => open(options as CompiledDataSourceOptions),
    }),
  ],
  providers: [DatabaseMetrics, SchemaCheck, Transactions],
  exports: [SchemaCheck, Transactions],
})
export class DatabaseModule {}

async function open(options: CompiledDataSourceOptions): Promise<CompiledDataSource> {
  const database = await new CompiledDataSource(options).initialize();
  await warnOfMissingTimeouts(database.primary);
  return database;
}
