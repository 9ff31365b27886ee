import { isDate } from 'node:util/types';
import type { EntityMetadata, EntitySubscriberInterface, ObjectLiteral } from 'typeorm';
import type { ColumnMetadata } from 'typeorm/metadata/ColumnMetadata.js';
import { Connections, type Row, type Statement } from '../database/index.js';
import { OperatorError } from '../process/index.js';

export function quoted(name: string, { dataSource }: EntityMetadata): string {
  return dataSource.driver.escape(name);
}

/** The quoted table of an entity, with its schema. */
export function tableOf(entity: EntityMetadata): string {
  return entity.tablePath
    .split('.')
    .map((part) => quoted(part, entity))
    .join('.');
}

type Convert = (value: unknown) => unknown;

/** A column in prepared statements. */
export interface ShapeColumn {
  readonly property: string;
  readonly sql: string;
  /** PostgreSQL's name of the type, without length or precision. */
  readonly type: string;
  readonly isArray: boolean;
  readonly metadata: ColumnMetadata;
  /** TypeORM's conversions of a value before it is sent and after it is received; undefined if it has none. */
  readonly write?: Convert;
  readonly read?: Convert;
}

/** Types whose values TypeORM does not convert. */
const UNCHANGED = new Set([
  ...['bigint', 'integer', 'smallint', 'numeric', 'real', 'double precision'],
  ...['text', 'character varying', 'character', 'uuid', 'bytea', 'boolean', 'inet', 'cidr'],
  ...['timestamptz', 'timestamp with time zone'],
]);
/** Types whose values TypeORM converts in JavaScript, without SQL functions around the column. */
const CONVERTED = new Set([
  ...['date', 'time', 'time without time zone', 'timestamp', 'timestamp without time zone'],
  ...['json', 'jsonb'],
]);
/** `CAST(… AS character)` would cut a text to one character. */
const CAST: Record<string, string> = { character: 'bpchar' };

/** The columns of an entity's table. */
export class Shape {
  readonly table: string;
  readonly columns: readonly ShapeColumn[];
  /** Columns that a read returns, in this order; without columns that have `select: false`. */
  readonly selected: readonly ShapeColumn[];
  readonly keys: readonly ShapeColumn[];
  /** The SQL condition that a row is not soft-deleted. */
  readonly notDeleted?: string;
  /** The column with the time of the last change, if TypeORM sets it. */
  readonly updateColumn?: ShapeColumn;
  private readonly byProperty: ReadonlyMap<string, ShapeColumn>;
  private readonly statements = new Map<string, Statement>();
  private readonly create: new () => ObjectLiteral;
  private readonly hasInitial: boolean;

  /** @throws OperatorError as `requireShape` does */
  constructor(readonly entity: EntityMetadata) {
    requireShape(entity);
    const all = new Map(entity.columns.map((column) => [column, shapeOf(column)]));
    this.table = tableOf(entity);
    this.columns = [...all.values()];
    this.selected = entity.columns.filter(({ isSelect }) => isSelect).map((column) => all.get(column)!);
    this.keys = entity.primaryColumns.map((column) => all.get(column)!);
    this.byProperty = new Map(this.columns.map((column) => [column.property, column]));
    if (entity.deleteDateColumn) this.notDeleted = `${all.get(entity.deleteDateColumn)!.sql} IS NULL`;
    if (entity.updateDateColumn) this.updateColumn = all.get(entity.updateDateColumn);
    this.create = entity.target as new () => ObjectLiteral;
    this.hasInitial = Object.values(new this.create()).some((value) => value !== undefined);
  }

  /** The table's prepared statement under a unique key. `write` makes the SQL on first use. */
  prepared(key: string, write: () => string): Statement {
    const { dataSource, tableName } = this.entity;
    return this.statements.getOrInsertComputed(key, () =>
      Connections.of(dataSource).statement(write(), tableName),
    );
  }

  /** @throws TypeError for a property that is no column */
  column(property: string): ShapeColumn {
    const column = this.byProperty.get(property);
    if (!column) throw new TypeError(`${this.entity.name} has no column ${property}`);
    return column;
  }

  /** The columns that have values. @throws TypeError for the value of a relation: set its column instead */
  given(values: ObjectLiteral): ShapeColumn[] {
    const relation = this.entity.relations.find(({ propertyPath }) => values[propertyPath] !== undefined);
    if (relation)
      throw new TypeError(
        `${this.entity.name}.${relation.propertyPath} is a relation: set its column instead`,
      );
    return this.columns.filter(({ property }) => values[property] !== undefined);
  }

  /** Values of a new row, with the initial values of its class, as TypeORM's `create` sets them. */
  withInitial(values: ObjectLiteral): ObjectLiteral {
    return this.hasInitial ? { ...new this.create(), ...withoutUndefined(values) } : values;
  }

  /** The columns of a condition. @throws TypeError for a property that is no column */
  columnsIn(where: ObjectLiteral): ShapeColumn[] {
    return Object.keys(where).map((name) => this.column(name));
  }

  /** The columns of a condition for one row. @throws TypeError for a missing value or primary key column */
  columnsWithKey(where: ObjectLiteral): ShapeColumn[] {
    requireValues(where);
    const absent = this.keys.find(({ property }) => !(property in where));
    if (absent) throw new TypeError(`The condition has no value of the key ${absent.property}`);
    return this.columnsIn(where);
  }

  /** An entity with the values of a row. */
  hydrate(row: readonly unknown[]): ObjectLiteral {
    const item = new this.create();
    const { selected } = this;
    for (let i = 0; i < selected.length; i++) {
      const { property, read } = selected[i]!;
      const value = copyOf(row[i]);
      item[property] = read ? read(value) : value;
    }
    return item;
  }
}

/** A date as a text in UTC: `pg` would write local times, and cut the offsets of old dates to minutes. */
function inUtc(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inUtc);
  if (!isDate(value)) return value;
  const year = value.getUTCFullYear();
  // Year 0 of JavaScript, the earliest that a `TimestampField` accepts, is 1 BC.
  if (year === 0) return `${value.toISOString().replace('0000', '0001')} BC`;
  return year > 0 && year < 10_000 ? value.toISOString() : value;
}

function shapeOf(column: ColumnMetadata): ShapeColumn {
  const { driver } = column.entityMetadata.dataSource;
  const type = driver.normalizeType(column);
  const isUnchanged = UNCHANGED.has(type) && !column.transformer;
  return {
    property: column.propertyName,
    sql: quoted(column.databaseName, column.entityMetadata),
    type: CAST[type] ?? type,
    isArray: column.isArray,
    metadata: column,
    ...(isUnchanged
      ? type === 'timestamp with time zone' && { write: inUtc }
      : {
          write: (value) => driver.preparePersistentValue(value, column),
          read: (value) => driver.prepareHydratedValue(value, column),
        }),
  };
}

/** The properties of columns, as part of the name of a statement. */
export function namesOf(columns: readonly ShapeColumn[]): string {
  return columns.map(({ property }) => property).join();
}

/** A value as `pg` sends it. */
export function convert({ write }: ShapeColumn, value: unknown): unknown {
  return write ? write(value) : value;
}

/** The values of columns as `pg` sends them. */
export function written(columns: readonly ShapeColumn[], values: ObjectLiteral): Row {
  return columns.map((column) => convert(column, values[column.property]));
}

/** Copies a value, as several entities may get the same row. A value of an unknown class stays shared. */
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(copyOf);
  switch (Object.getPrototypeOf(value)) {
    case Date.prototype:
      return new Date(value as Date);
    case Buffer.prototype:
      return Buffer.from(value as Buffer);
    case Object.prototype:
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, copyOf(item)]));
    default:
      return value;
  }
}

function withoutUndefined(values: ObjectLiteral): ObjectLiteral {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

/** @throws TypeError for a missing value, and for no values at all: the condition would match any row */
export function requireValues(where: ObjectLiteral): void {
  const names = Object.keys(where);
  const missing = names.find((name) => where[name] === undefined || where[name] === null);
  if (missing !== undefined || names.length === 0)
    throw new TypeError(`The condition has no value for ${missing ?? 'any property'}`);
}

/** @throws OperatorError for an entity that has more than plain columns of one table */
export function requireShape(entity: EntityMetadata): void {
  const reason = whyNoShape(entity);
  if (reason)
    throw new OperatorError(
      `${entity.name} cannot have a FastRepository: ${reason}. Use TypeORM's Repository with @InjectRepository(${entity.name}).`,
    );
}

/** Why an entity cannot have a `Shape`; undefined if it can. A `Shape` must convert values as TypeORM does. */
function whyNoShape(entity: EntityMetadata): string | undefined {
  const { embeddeds, eagerRelations, lazyRelations, listeners, inheritancePattern, treeType } = entity;
  if (typeof entity.target !== 'function') return 'it is not a class';
  if (embeddeds.length > 0) return `${embeddeds[0]!.propertyName} is embedded`;
  if (eagerRelations.length > 0) return `the relation ${eagerRelations[0]!.propertyName} is eager`;
  if (lazyRelations.length > 0) return `the relation ${lazyRelations[0]!.propertyName} is lazy`;
  if (listeners.length > 0) return `${listeners[0]!.propertyName} listens to it`;
  if (inheritancePattern ?? treeType) return 'it is part of a hierarchy';
  const subscriber = entity.dataSource.subscribers.find((each) => listensTo(each, entity));
  if (subscriber) return `${subscriber.constructor.name} subscribes to it`;
  const wrong = entity.columns.map(whyNoColumn).find((reason) => reason !== undefined);
  return wrong ?? (entity.primaryColumns.length === 0 ? 'it has no primary key' : undefined);
}

const CHANGES = ['Insert', 'Update', 'Remove', 'SoftRemove', 'Recover'];
/** TypeORM events of rows and statements, which `FastRepository` skips; transaction events still occur. */
const ROW_EVENTS = ['afterLoad', ...CHANGES.flatMap((change) => [`before${change}`, `after${change}`])];
const STATEMENT_EVENTS = ['beforeQuery', 'afterQuery'];

/** Whether TypeORM would notify a subscriber of changes or reads of an entity's rows. */
function listensTo(subscriber: EntitySubscriberInterface, { target }: EntityMetadata): boolean {
  if (STATEMENT_EVENTS.some((name) => name in subscriber)) return true;
  if (!ROW_EVENTS.some((name) => name in subscriber)) return false;
  const listened = subscriber.listenTo?.();
  if (!listened || listened === target) return true;
  return (
    typeof listened === 'function' && typeof target === 'function' && target.prototype instanceof listened
  );
}

function whyNoColumn(column: ColumnMetadata): string | undefined {
  const { propertyName: name, entityMetadata } = column;
  const type = entityMetadata.dataSource.driver.normalizeType(column);
  if (column.isVirtual) return `the relation ${name} has no column of its own`;
  if (column.isVirtualProperty || column.generatedType) return `the column ${name} is computed`;
  if (column.isVersion) return `the column ${name} is a version`;
  if (column.isPrimary && !column.isSelect) return `the key ${name} is not selected`;
  if (!column.isInsert || !column.isUpdate) return `the column ${name} is not always written`;
  return UNCHANGED.has(type) || CONVERTED.has(type) ? undefined : `the column ${name} is of type ${type}`;
}
