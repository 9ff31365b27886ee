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
import { requireShape } from './shape.js';
import { Transactions } from './transactions.js';
import { requireConstraints } from './violations.js';

const tokenOf = (entity: Type) => `${entity.name}FastRepository`;
const IS_INJECTED = Symbol('has a FastRepository');

/** Injects the `FastRepository` of an entity of the feature; `requireShape` must accept the entity. */
export function InjectFastRepository(entity: Type): ParameterDecorator & PropertyDecorator {
  Reflect.defineMetadata(IS_INJECTED, true, entity);
  return Inject(tokenOf(entity));
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

  /** TypeORM's own repositories, and a `FastRepository` for each entity. */
  static forFeature(entities: readonly Type<ObjectLiteral>[]): DynamicModule {
    const own = TypeOrmModule.forFeature([...entities]);
    const providers = entities.map((entity) => ({
      provide: tokenOf(entity),
      inject: [DataSource],
      useFactory: (database: DataSource) => new FastRepository(entity, database.manager),
    }));
    return {
      module: DataFeatureModule,
      imports: [own],
      providers,
      exports: [own, ...providers.map(({ provide }) => provide)],
    };
  }

  /**
   * Checks the entities after providers have added their TypeORM subscribers.
   * @throws OperatorError for an injected `FastRepository` whose entity cannot have one; for a `violation` of
   * a constraint that does not exist
   */
  async onApplicationBootstrap(): Promise<void> {
    for (const entity of this.database.entityMetadatas) {
      const { target } = entity;
      // Looks for the class's own mark: a subclass of a marked entity is not marked itself.
      if (typeof target === 'function' && Reflect.hasOwnMetadata(IS_INJECTED, target)) requireShape(entity);
    }
    // Skips commands, which alone set no `statement_timeout`: they report an outdated schema themselves.
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
