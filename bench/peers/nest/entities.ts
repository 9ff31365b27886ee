import { randomUUIDv7 } from 'node:crypto';
import { Exclude, Transform } from 'class-transformer';
import {
  BeforeInsert,
  Column,
  CreateDateColumn,
  Entity,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  UpdateDateColumn,
} from 'typeorm';

/** An int64 is a string in an entity, and a bigint for the serializer, which would convert anything else. */
const Int64 = () => Transform(({ value }) => BigInt(value), { toPlainOnly: true });
const Identity = () => PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' });

@Entity('api_keys')
export class ApiKey {
  @Identity()
  id!: string;

  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column({ type: 'bytea' })
  hash!: Buffer;

  @Column({ type: 'timestamptz', name: 'expires_at', nullable: true })
  expiresAt!: Date | null;
}

@Entity('pets')
export class Pet {
  @Int64()
  @Identity()
  id!: string;

  @Column('text')
  name!: string;

  @Int64()
  @Column('bigint', { name: 'category_id' })
  categoryId!: string;

  @Transform(({ value }) => value ?? undefined, { toPlainOnly: true })
  @Column('text', { nullable: true })
  status!: string | null;
}

@Entity('orders')
export class Order {
  @Int64()
  @Identity()
  id!: string;

  @Exclude()
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Int64()
  @Column('bigint', { name: 'pet_id' })
  petId!: string;

  @Column('text')
  status!: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt!: Date;
}

@Entity('messages')
export class Message {
  @PrimaryColumn('uuid')
  id!: string;

  @Exclude()
  @Column('bigint', { name: 'account_id' })
  accountId!: string;

  @Column('text')
  message!: string;

  @Column('text')
  status!: string;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;

  @BeforeInsert()
  nameIt(): void {
    this.id = randomUUIDv7();
  }
}
