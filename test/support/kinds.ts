import { randomUUID } from 'node:crypto';
import {
  Column,
  CreateDateColumn,
  DeleteDateColumn,
  Entity,
  JoinColumn,
  ManyToOne,
  type ObjectLiteral,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** Entities of every kind that consists of the columns of one table. Each row has a `label` of its own. */

/** The columns that most entities have. */
abstract class Labelled {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' }) id!: string;
  @Column('text') label!: string;
}

@Entity()
export class Identity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
  @Column('text') label!: string;
  @Column('text', { nullable: true }) state!: string | null;
}

@Entity()
export class Uuid {
  @PrimaryGeneratedColumn('uuid') id!: string;
  @Column('text') label!: string;
}

@Entity()
export class Composite {
  @PrimaryColumn('bigint') left!: string;
  @PrimaryColumn('text') right!: string;
  @Column('text') label!: string;
}

@Entity()
export class Types {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' }) id!: string;
  @Column('varchar', { length: 80 }) label!: string;
  @Column('numeric', { precision: 12, scale: 2 }) price!: string;
  @Column('date') day!: string;
  @Column('time') hour!: string;
  @Column('jsonb') json!: unknown;
  @Column('json', { nullable: true }) loose!: unknown;
  @Column('double precision') ratio!: number;
  @Column('char', { length: 3 }) code!: string;
  @Column('boolean', { default: true }) isOpen!: boolean;
  @Column('timestamp', { precision: 3 }) local!: Date;
  @Column('bytea') bytes!: Buffer;
}

@Entity()
export class Dated extends Labelled {
  /** Read only if a query selects it by name. */
  @Column('text', { select: false, nullable: true }) secret!: string | null;
  @CreateDateColumn({ type: 'timestamptz', precision: 3 }) createdAt!: Date;
  @UpdateDateColumn({ type: 'timestamptz', precision: 3 }) updatedAt!: Date;
}

@Entity()
export class SoftDeleted extends Labelled {
  @DeleteDateColumn({ type: 'timestamptz' }) deletedAt!: Date | null;
}

@Entity()
export class Transformed {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' }) id!: string;

  @Column('text', {
    transformer: { to: (text: string) => `<${text}>`, from: (text: string) => text.slice(1, -1) },
  })
  label!: string;
}

/** Properties that a statement could confuse with names of its own. */
@Entity('order')
export class Clashing extends Labelled {
  @Column('text', { name: 'select' }) limit!: string;
  @Column('integer') n!: number;
}

/** An entity with a relation beside its column; TypeORM loads the relation only on request. */
@Entity()
export class Related extends Labelled {
  @Column('bigint', { nullable: true }) parentId!: string | null;

  @ManyToOne(() => Identity)
  @JoinColumn({ name: 'parentId' })
  parent?: Identity;
}

/** An entity whose keys are set by the caller, and may be negative. */
@Entity()
export class Signed {
  @PrimaryColumn('bigint') id!: string;
  @Column('text') label!: string;
}

/** An entity with unset values: the table has defaults, and the class has initial values. */
@Entity()
export class Defaulted extends Labelled {
  @Column('integer', { default: 7 }) n!: number;
  @Column('text', { default: 'none', nullable: true }) note!: string | null;
  @Column('text', { default: 'by default', nullable: true }) state: string | null = 'initial';
  @Column('jsonb', { default: () => `'{"a": 1}'` }) json!: object;
  @Column('json', { nullable: true }) loose!: unknown;
  @Column('text', { array: true, default: () => `'{none}'` }) tags!: string[];
  @Column('integer', { array: true, nullable: true }) counts!: number[] | null;
  @Column('numeric', { precision: 12, scale: 3, default: '1.500' }) price!: string;
}

/** A kind of entity, and the further values of its rows. */
export interface Kind {
  entity: new () => ObjectLiteral & { label: string };
  /** Values besides the label, of row `i`. */
  values: (i: number) => ObjectLiteral;
}

let nextSigned = -400;

export const KINDS: Kind[] = [
  {
    entity: Types,
    values: (i) => ({
      price: `${i}.5`,
      day: '2026-02-28',
      hour: '09:30:00',
      json: { i, nested: ["O'Brien", null, { a: 'ä"\\' }] },
      loose: i % 2 ? [1, 'two'] : null,
      ratio: i / 3,
      code: 'abc',
      local: new Date(Date.UTC(2026, 1, 28, 12, 0, i)),
      bytes: Buffer.from([0, 255, i]),
    }),
  },
  { entity: Identity, values: (i) => ({ state: i % 2 ? 'open' : null }) },
  { entity: Uuid, values: () => ({}) },
  { entity: Composite, values: () => ({ left: '9007199254740993', right: randomUUID() }) },
  { entity: Dated, values: (i) => ({ secret: `s${i}` }) },
  { entity: SoftDeleted, values: () => ({}) },
  { entity: Transformed, values: () => ({}) },
  {
    entity: Clashing,
    values: (i) => ({ limit: 'l', n: i % 2 }),
  },
  { entity: Related, values: () => ({ parentId: '1' }) },
  { entity: Signed, values: () => ({ id: String(nextSigned++) }) },
];

/** The values of rows of one kind. */
export const valuesOf = (entity: unknown) => KINDS.find((kind) => kind.entity === entity)!.values;
