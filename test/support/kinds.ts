import {
  AfterLoad,
  Column,
  CreateDateColumn,
  DeleteDateColumn,
  Entity,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  TableInheritance,
  UpdateDateColumn,
  VersionColumn,
} from 'typeorm';

/** Entities of every kind that a team may write. Each row is told from the others by its `label`. */

@Entity()
export class Identity {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: string;

  @Column('text')
  label!: string;

  @Column('text', { nullable: true })
  state!: string | null;
}

@Entity()
export class Serial {
  @PrimaryGeneratedColumn()
  id!: number;

  @Column()
  label!: string;
}

@Entity()
export class Uuid {
  @PrimaryGeneratedColumn('uuid')
  id!: string;

  @Column('text')
  label!: string;
}

/** One whose key the caller gives. */
@Entity()
export class Given {
  @PrimaryColumn('uuid')
  id!: string;

  @Column('text')
  label!: string;
}

@Entity()
export class Composite {
  @PrimaryColumn('bigint')
  left!: string;

  @PrimaryColumn('text')
  right!: string;

  @Column('text')
  label!: string;
}

@Entity({ schema: 'other', name: 'identity' })
export class OtherSchema {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;
}

@Entity()
export class Types {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('varchar', { length: 80 })
  label!: string;

  @Column('numeric', { precision: 12, scale: 2 })
  price!: string;

  @Column('date')
  day!: string;

  @Column('time')
  hour!: string;

  @Column('jsonb')
  json!: unknown;

  @Column('json', { nullable: true })
  loose!: unknown;

  @Column('double precision')
  ratio!: number;

  @Column('char', { length: 3 })
  code!: string;

  @Column('boolean', { default: true })
  isOpen!: boolean;

  @Column('timestamp', { precision: 3 })
  local!: Date;

  @Column('bytea')
  bytes!: Buffer;
}

@Entity()
export class Lists {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  @Column('text', { array: true })
  tags!: string[];

  @Column('bigint', { array: true, nullable: true })
  numbers!: string[] | null;
}

@Entity()
export class Dated {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  /** Kept from answers. */
  @Column('text', { select: false, nullable: true })
  secret!: string | null;

  @CreateDateColumn({ type: 'timestamptz', precision: 3 })
  createdAt!: Date;

  @UpdateDateColumn({ type: 'timestamptz', precision: 3 })
  updatedAt!: Date;
}

@Entity()
export class SoftDeleted {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  @DeleteDateColumn({ type: 'timestamptz' })
  deletedAt!: Date | null;
}

@Entity()
export class Transformed {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text', {
    transformer: { to: (text: string) => `<${text}>`, from: (text: string) => text.slice(1, -1) },
  })
  label!: string;
}

/** A value with a prototype and something that nobody else sees. */
export class Money {
  readonly #cents: number;

  constructor(cents: number) {
    this.#cents = cents;
  }

  get cents(): number {
    return this.#cents;
  }
}

/** One whose transformers make instances of a class, also of one that holds a function, which nothing can copy. */
@Entity()
export class Instances {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  @Column('integer', {
    transformer: { to: (money: Money) => money.cents, from: (cents: number) => new Money(cents) },
  })
  price!: Money;

  @Column('jsonb', {
    nullable: true,
    transformer: {
      to: (labels: Map<string, string> | null) => labels && Object.fromEntries(labels),
      from: (stored: Record<string, string> | null) =>
        stored && Object.assign(new Map(Object.entries(stored)), { told: () => true }),
    },
  })
  labels!: Map<string, string> | null;
}

/** Properties that a statement could confuse with names of its own. */
@Entity('order')
export class Clashing {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  @Column('text')
  page!: string;

  @Column('text', { name: 'select' })
  limit!: string;

  @Column('integer')
  n!: number;

  @Column('text', { name: 'v1' })
  ids!: string;

  @Column('text', { name: 'asked for' })
  list!: string;
}

@Entity()
export class Versioned {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  @VersionColumn()
  version!: number;
}

class Address {
  @Column('text')
  city!: string;
}

@Entity()
export class Embedded {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  @Column(() => Address)
  address!: Address;
}

@Entity()
export class Eager {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  @ManyToOne(() => Identity, { eager: true })
  parent!: Identity;
}

@Entity()
export class Lazy {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  @ManyToOne(() => Identity, { lazy: true })
  parent!: Promise<Identity>;
}

/** One with a relation beside its column, which TypeORM does not load unless it is asked to. */
@Entity()
export class Related {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  @Column('bigint', { nullable: true })
  parentId!: string | null;

  @ManyToOne(() => Identity)
  @JoinColumn({ name: 'parentId' })
  parent?: Identity;
}

@Entity()
export class Listening {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  loaded?: string;

  @AfterLoad()
  note(): void {
    this.loaded = `loaded ${this.label}`;
  }
}

@Entity()
@TableInheritance({ column: { type: 'text', name: 'kind' } })
export class Inherited {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;
}

@Entity()
export class Enumerated {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  @Column('enum', { enum: ['small', 'large'] })
  size!: string;
}

@Entity()
export class Audited {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;
}

/** The usual way to audit. */
@EventSubscriber()
export class Audit implements EntitySubscriberInterface<Audited> {
  static readonly told: string[] = [];

  listenTo() {
    return Audited;
  }

  afterInsert({ entity }: InsertEvent<Audited>): void {
    Audit.told.push(entity.label);
  }
}

/** One whose class gives a property a value. */
@Entity()
export class Initialized {
  @PrimaryGeneratedColumn('identity', { type: 'bigint' })
  id!: string;

  @Column('text')
  label!: string;

  @Column('text')
  state = 'new';
}

/** One whose keys are given, and may be below zero. */
@Entity()
export class Signed {
  @PrimaryColumn('bigint')
  id!: string;

  @Column('text')
  label!: string;
}

/** One whose key has another name. */
@Entity()
export class Named {
  @PrimaryColumn('bigint')
  no!: string;

  @Column('text')
  label!: string;
}
