import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Config } from '../config.js';
import { MetricsModule } from '../observability/metrics.module.js';
import { CompiledDataSource } from './compiled/compiled-data-source.js';
import { DatabaseMetrics } from './database-metrics.js';
import { poolOptions } from './data-source.js';
import { SchemaCheck } from './schema-check.js';
import { Transactions } from './transactions.js';

/** Connects TypeORM; each feature brings its own entities. */
@Global()
@Module({
  imports: [
    MetricsModule,
    TypeOrmModule.forRootAsync({
      inject: [Config],
      useFactory: (config: Config) => ({ ...poolOptions(config), autoLoadEntities: true, retryAttempts: 0 }),
      dataSourceFactory: async (options) => new CompiledDataSource(options!).initialize(),
    }),
  ],
  providers: [DatabaseMetrics, SchemaCheck, Transactions],
  exports: [SchemaCheck, Transactions],
})
export class DatabaseModule {}
