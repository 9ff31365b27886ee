import {
  type DynamicModule,
  Global,
  Injectable,
  Module,
  type OnApplicationShutdown,
  type Type,
} from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { getRepositoryToken, TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type DataSourceOptions, type EntitySchema, getMetadataArgsStorage } from 'typeorm';
import { Config } from '../../config.js';
import { cached, currentWork, within } from '../process/index.js';
import { Metrics, MetricsModule } from '../telemetry/index.js';
import { type ConnectionOptions, Connections } from './connections.js';
import { loadMigrations, type Migration } from './migrate.js';
import { RowStreams } from './row-streams.js';

/** How long a result is reused. Probes are a second or more apart. */
const KEPT = { ms: 1_000 };

/** Milliseconds after which the database counts as away. */
const PATIENCE_MS = 2_000;

/** A standby is in recovery; a server with a full disk, or one being replaced, may be read-only. */
const STATE = `
  SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool AS "isReadOnly",
    array(SELECT name FROM migrations) AS applied`;

/** Checks that the database can serve this build: it responds, is writable, and has every migration. */
@Injectable()
export class SchemaCheck {
  private names?: Promise<string[]>;

  /** The database's problem, if any, queried once a second at most. Newer migrations are no problem. */
  readonly findProblem = cached(async () => {
    const state = currentWork.run(undefined, async () => ({ problem: await this.query() }));
    const found = await within(PATIENCE_MS, state);
    return found ? found.problem : `the database has not answered within ${PATIENCE_MS} ms`;
  }, KEPT);

  constructor(
    private readonly database: DataSource,
    private readonly ofFeatures: readonly Migration[],
  ) {}

  private async query(): Promise<string | undefined> {
    this.names ??= loadMigrations(this.ofFeatures).then((migrations) => migrations.map(({ name }) => name));
    const [state] = await this.database.query<[{ isReadOnly: boolean; applied: string[] }]>(STATE);
    if (state.isReadOnly) return 'the database cannot be written';
    const missing = (await this.names).filter((name) => !state.applied.includes(name));
    return missing.length > 0 ? `the database lacks ${missing.join(', ')}` : undefined;
  }
}

@Injectable()
class DatabaseMetrics {
  constructor(metrics: Metrics, { primary: pool }: Connections) {
    metrics.gauge(
      'petstore_database_connections',
      'Connections of the pool, by state.',
      () => [
        { labels: { state: 'used' }, value: pool.totalCount - pool.idleCount },
        { labels: { state: 'idle' }, value: pool.idleCount },
      ],
      { labels: ['state'] },
    );
    metrics.gauge(
      'petstore_database_connections_max',
      'Connections that the pool may have.',
      () => pool.options.max,
    );
    metrics.gauge(
      'petstore_database_waiting',
      'Statements and transactions that wait for a connection.',
      () => pool.queued,
    );
  }
}

/** Connects TypeORM; each feature registers its own entities. */
@Global()
@Module({
  imports: [MetricsModule],
  providers: [
    {
      provide: Connections,
      inject: [DataSource],
      useFactory: (source: DataSource) => Connections.of(source),
    },
    DatabaseMetrics,
    RowStreams,
  ],
  exports: [Connections, RowStreams],
})
export class DatabaseModule implements OnApplicationShutdown {
  constructor(private readonly connections: Connections) {}

  /**
   * @param optionsOf the options for requests, or for a command
   * @param ofFeatures the migrations of features, which the database must have
   */
  static with(
    optionsOf: (config: Config) => ConnectionOptions,
    ofFeatures: readonly Migration[] = [],
  ): DynamicModule {
    const typeOrm = TypeOrmModule.forRootAsync({
      inject: [Config, ModulesContainer],
      // The first failure ends the start: a retry by Nest would report only that the database is closed.
      useFactory: (config: Config, modules: ModulesContainer) => ({
        ...optionsOf(config),
        autoLoadEntities: true,
        toRetry: () => false,
        modules,
      }),
      dataSourceFactory: (options) => Promise.resolve(new DataSource(ofModules(options as LoadedOptions))),
    });
    const check = {
      provide: SchemaCheck,
      inject: [DataSource],
      useFactory: (database: DataSource) => new SchemaCheck(database, ofFeatures),
    };
    return { module: DatabaseModule, imports: [typeOrm], providers: [check], exports: [check] };
  }

  onApplicationShutdown(): Promise<void> {
    return this.connections.close();
  }
}

/** The options of a data source, with the entities of all modules that are loaded in the process. */
type LoadedOptions = Omit<DataSourceOptions, 'entities'> & {
  modules: ModulesContainer;
  entities: (Type | EntitySchema)[];
};

/** Keeps the entities whose repositories the service's modules provide, and the targets of their foreign keys. */
function ofModules({ modules, entities: loaded, ...options }: LoadedOptions): DataSourceOptions {
  const tokens = new Set([...modules.values()].flatMap(({ providers }) => [...providers.keys()]));
  const entities = new Set<unknown>(loaded.filter((entity) => tokens.has(getRepositoryToken(entity))));
  // The loop also visits the entities that it adds.
  for (const entity of entities)
    for (const { target, type } of getMetadataArgsStorage().foreignKeys)
      if (target === entity && typeof type === 'function') entities.add((type as () => unknown)());
  return { ...options, entities: [...entities] } as DataSourceOptions;
}
