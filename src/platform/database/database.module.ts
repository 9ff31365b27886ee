import { Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Config } from '../../config.js';
import { MetricsModule } from '../telemetry/metrics.module.js';
import { poolOptions } from './connection-options.js';
import { Connections } from './connections.js';
import { DatabaseMetrics } from './database-metrics.js';
import { warnOfMissingTimeouts } from './missing-timeouts.js';
import { SchemaCheck } from './schema-check.js';

/** Connects TypeORM; each feature registers its own entities. */
@Global()
@Module({
  imports: [
    MetricsModule,
    TypeOrmModule.forRootAsync({
      inject: [Config],
      useFactory: (config: Config) => ({ ...poolOptions(config), autoLoadEntities: true, retryAttempts: 0 }),
    }),
  ],
  providers: [
    { provide: Connections, inject: [DataSource], useFactory: connect },
    DatabaseMetrics,
    SchemaCheck,
  ],
  exports: [SchemaCheck],
})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(private readonly connections: Connections) {}

  onApplicationShutdown(): Promise<void> {
    return this.connections.close();
  }
}

async function connect(database: DataSource): Promise<Connections> {
  const connections = Connections.of(database);
  await warnOfMissingTimeouts(connections.primary);
  return connections;
}
