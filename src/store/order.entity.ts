import { Check, Column, CreateDateColumn, Entity, ForeignKey, Index, UpdateDateColumn } from 'typeorm';
import { IdColumn } from 'petstore/platform';
import { Account } from '../auth/account.entity.js';
import { Pet } from '../pets/pet.entity.js';

export enum OrderStatus {
  Placed = 'placed',
  Approved = 'approved',
  Delivered = 'delivered',
  Cancelled = 'cancelled',
}

/** An order of an account for one animal. The unique index allows an animal only one open order. */
@Entity('orders')
@Index('orders_account_id_id_idx', ['accountId', 'id'])
@Index('orders_account_id_status_id_idx', ['accountId', 'status', 'id'])
@Index('orders_open_pet_id_key', ['petId'], { unique: true, where: `status IN ('placed', 'approved')` })
@Index('orders_pet_id_idx', ['petId'])
@Check('orders_status_check', `status IN ('placed', 'approved', 'delivered', 'cancelled')`)
export class Order {
  @IdColumn('orders_pkey')
  id!: string;

  @Column('bigint', { name: 'account_id' })
  @ForeignKey(() => Account, { name: 'orders_account_id_fkey' })
  accountId!: string;

  @Column('bigint', { name: 'pet_id' })
  @ForeignKey(() => Pet, { name: 'orders_pet_id_fkey' })
  petId!: string;

  @Column('text')
  status!: OrderStatus;

  @CreateDateColumn({ name: 'created_at', type: 'timestamptz', precision: 3 })
  createdAt!: Date;

  @UpdateDateColumn({ name: 'updated_at', type: 'timestamptz', precision: 3 })
  updatedAt!: Date;
}
