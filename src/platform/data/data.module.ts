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
import { requireShape, whyNoShape } from './shape.js';
import { Transactions } from './transactions.js';
import { requireConstraints } from './violations.js';

const tokenOf = (entity: Type) => `${entity.name}FastRepository`;
const IS_INJECTED = Symbol('has a FastRepository');

/** Injects the `FastRepository` of an entity of the feature, which must be the columns of one table. */
export function InjectFastRepository(entity: Type): ParameterDecorator & PropertyDecorator {
  Reflect.defineMetadata(IS_INJECTED, true, entity);
  return Inject(tokenOf(entity));
}

/** Whether a service injects the repository of this very class, not that of a class which it extends. */
const isInjected = (entity: object) => Reflect.hasOwnMetadata(IS_INJECTED, entity);

/** @throws OperatorError if a service injects the `FastRepository` of an entity that cannot have one */
function repositoryOf(
  entity: Type<ObjectLiteral>,
  database: DataSource,
): FastRepository<ObjectLiteral> | null {
  const isPlain = whyNoShape(database.getMetadata(entity)) === undefined;
  if (!isPlain && !isInjected(entity)) return null;
  const rows = new FastRepository(entity, database.manager);
  // Reads the shape at the start, so that a problem ends the start and not the first request.
  void rows.shape;
  return rows;
}

/** Provides transactions and events to every module, and repositories to features. */
@Global()
@Module({
  providers: [
    {
      provide: Transactions,
      inject: [DataSource],
      useFactory: (database: DataSource) => Transactions.of(database),
    },
    Events,
  ],
  exports: [Transactions, Events],
})
export class DataModule implements OnApplicationBootstrap {
  constructor(@Inject(getDataSourceToken()) private readonly database: DataSource) {}

  /** The repositories of TypeORM's own module, and a `FastRepository` of each entity. */
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
      exports: [own, ...providers.map(({ provide }) => provide)],
    };
  }

  /**
   * @throws OperatorError for a `violation` of a constraint that does not exist, and for an entity with a `FastRepository` to
   * which a provider has subscribed since
   */
  async onApplicationBootstrap(): Promise<void> {
    for (const entity of this.database.entityMetadatas)
      if (typeof entity.target === 'function' && isInjected(entity.target)) requireShape(entity);
    // Commands set no `statement_timeout`, and report an outdated schema themselves.
    const { statement_timeout: timeout } =
      (this.database.options as { extra?: { statement_timeout?: number } }).extra ?? {};
    if (timeout !== undefined) await requireConstraints(this.database);
  }
}

@Module({})
class DataFeatureModule {}

/** The id column of a table: an int64 that PostgreSQL assigns, kept as a decimal string, which loses no digit. */
export function IdColumn(constraint: string): PropertyDecorator {
  return PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    primaryKeyConstraintName: constraint,
    generatedIdentity: 'ALWAYS',
  });
}
