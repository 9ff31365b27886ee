import {
  type DynamicModule,
  Global,
  Inject,
  Logger,
  Module,
  type OnApplicationBootstrap,
  type Type,
} from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type ObjectLiteral, PrimaryGeneratedColumn } from 'typeorm';
import { Events } from './events.js';
import { FastRepository, requireConstraints } from './fast-repository.js';
import { Sweeps } from './sweeps.js';
import { Transactions } from './transactions.js';
import { whyNotPrepared } from './typeorm-rows.js';

const served = new WeakMap<DataSource, Set<Type>>();

const tokenOf = (entity: Type) => `${entity.name}FastRepository`;

/** Gives a service the `FastRepository` of an entity that its module has from `DataModule.forFeature`. */
export const InjectFastRepository = (entity: Type) => Inject(tokenOf(entity));

/** Gives every module the transactions, sweeps and events, and features the repositories of their entities. */
@Global()
@Module({
  providers: [
    {
      provide: Transactions,
      inject: [DataSource],
      useFactory: (database: DataSource) => Transactions.of(database),
    },
    Sweeps,
    Events,
  ],
  exports: [Transactions, Sweeps, Events],
})
export class DataModule implements OnApplicationBootstrap {
  private readonly logger = new Logger('Data');

  constructor(@Inject(getDataSourceToken()) private readonly database: DataSource) {}

  /** What TypeORM's own module gives, and a `FastRepository` of each entity. */
  static forFeature(entities: readonly Type<ObjectLiteral>[]): DynamicModule {
    const own = TypeOrmModule.forFeature([...entities]);
    const providers = entities.map((entity) => ({
      provide: tokenOf(entity),
      inject: [DataSource],
      useFactory: (database: DataSource) => {
        served.set(database, (served.get(database) ?? new Set<Type>()).add(entity));
        return new FastRepository(entity, database.manager);
      },
    }));
    return {
      module: DataFeatureModule,
      imports: [own],
      providers,
      exports: [own, ...providers.map((one) => one.provide)],
    };
  }

  /**
   * Says which entities are not served by prepared statements, and why.
   * @throws OperatorError for a `violation` of a constraint that there is not
   */
  async onApplicationBootstrap(): Promise<void> {
    for (const entity of served.get(this.database) ?? []) {
      const reason = whyNotPrepared(this.database.getMetadata(entity));
      if (reason) this.logger.log(`${entity.name} is served by TypeORM's own statements: ${reason}`);
    }
    // A command says itself that the schema is not up to date.
    const { statement_timeout: asked } =
      (this.database.options as { extra?: { statement_timeout?: number } }).extra ?? {};
    if (asked !== undefined) await requireConstraints(this.database);
  }
}

/** What a feature imports for its entities. */
@Module({})
class DataFeatureModule {}

/** The id of a table, assigned by PostgreSQL: an int64, held as a decimal string, so that no digit is lost. */
export function IdColumn(constraint: string): PropertyDecorator {
  return PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    primaryKeyConstraintName: constraint,
    generatedIdentity: 'ALWAYS',
  });
}
