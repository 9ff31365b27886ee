import { type DynamicModule, Global, Module, type OnApplicationShutdown } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Config } from '../../config.js';
import { MetricsModule } from '../telemetry/index.js';
import { type ConnectionOptions, Connections } from './connections.js';
import { DatabaseMetrics } from './database-metrics.js';
import { warnOfMissingTimeouts } from './missing-timeouts.js';
import { SchemaCheck } from './schema-check.js';
import { requireSettings } from './session-settings.js';

/** Connects TypeORM; each feature registers its own entities. */
@Global()
@Module({
  imports: [MetricsModule],
  providers: [
    { provide: Connections, inject: [DataSource], useFactory: connect },
    DatabaseMetrics,
    SchemaCheck,
  ],
  exports: [Connections, SchemaCheck],
})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(private readonly connections: Connections) {}

  /** @param optionsOf those of requests, or of a command */
  static with(optionsOf: (config: Config) => ConnectionOptions): DynamicModule {
    const typeOrm = TypeOrmModule.forRootAsync({
      inject: [Config],
      useFactory: (config: Config) => ({ ...optionsOf(config), autoLoadEntities: true, retryAttempts: 0 }),
    });
    return { module: DatabaseModule, imports: [typeOrm] };
  }

  onApplicationShutdown(): Promise<void> {
    return this.connections.close();
  }
}

async function connect(database: DataSource): Promise<Connections> {
  const connections = Connections.of(database);
  // A command asks for none.
  const { statement_timeout: asked } = (database.options as ConnectionOptions).extra as {
    statement_timeout?: number;
  };
  if (asked !== undefined) await warnOfMissingTimeouts(connections.primary);
  await requireSettings(connections.primary);
  return connections;
}
