import { Global, Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Config } from '../config.js';
import { CompiledDataSource, type CompiledDataSourceOptions } from './compiled/compiled-data-source.js';
import { poolOptions } from './data-source.js';
import { Transactions } from './transactions.js';

/** Connects TypeORM; each feature brings its own entities. */
@Global()
@Module({
  imports: [
    TypeOrmModule.forRootAsync({
      inject: [Config],
      useFactory: (config: Config) => ({ ...poolOptions(config), autoLoadEntities: true, retryAttempts: 0 }),
      dataSourceFactory: async (options) =>
        new CompiledDataSource(options as CompiledDataSourceOptions).initialize(),
    }),
  ],
  providers: [Transactions],
  exports: [Transactions],
})
export class DatabaseModule {}
