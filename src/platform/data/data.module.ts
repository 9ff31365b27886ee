import {
  type DynamicModule,
  Global,
  Inject,
  Module,
  type OnApplicationBootstrap,
  type Type,
} from '@nestjs/common';
import { getDataSourceToken, TypeOrmModule } from '@nestjs/typeorm';
import { DataSource, type ObjectLiteral, PrimaryGeneratedColumn } from 'typeorm';
import { Events } from './events.js';
import { FastRepository } from './fast-repository.js';
import { whyNoShape } from './shape.js';
import { Sweeps } from './sweeps.js';
import { Transactions } from './transactions.js';
import { requireConstraints } from './violations.js';

const tokenOf = (entity: Type) => `${entity.name}FastRepository`;
const IS_INJECTED = Symbol('has a FastRepository');

/**
 * Gives a service the `FastRepository` of an entity that its feature has. Its entity is the columns of one table: any other
 * ends the start with the reason.
 */
export function InjectFastRepository(entity: Type): ParameterDecorator & PropertyDecorator {
  Reflect.defineMetadata(IS_INJECTED, true, entity);
  return Inject(tokenOf(entity));
}

/** @throws OperatorError for an entity that cannot have one, if a service asks for it */
function repositoryOf(
  entity: Type<ObjectLiteral>,
  database: DataSource,
): FastRepository<ObjectLiteral> | null {
  const isPlain = whyNoShape(database.getMetadata(entity)) === undefined;
  if (!isPlain && !Reflect.hasMetadata(IS_INJECTED, entity)) return null;
  const rows = new FastRepository(entity, database.manager);
  // Not with its first request.
  void rows.shape;
  return rows;
}

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
  constructor(@Inject(getDataSourceToken()) private readonly database: DataSource) {}

  /** What TypeORM's own module gives, and a `FastRepository` of each entity. */
  static forFeature(entities: readonly Type<ObjectLiteral>[]): DynamicModule {
    const own = TypeOrmModule.forFeature([...entities]);
    const providers = entities.map((entity) => ({
      provide: tokenOf(entity),
      inject: [DataSource],
      useFactory: (database: DataSource) => repositoryOf(entity, database),
    }));
    return {
      module: DataFeatureModule,
      imports: [own],
      providers,
      exports: [own, ...providers.map((one) => one.provide)],
    };
  }

  /** @throws OperatorError for a `violation` of a constraint that there is not */
  async onApplicationBootstrap(): Promise<void> {
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
