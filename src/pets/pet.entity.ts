import { Check, Column, Entity, ForeignKey, Index } from 'typeorm';
import { IdColumn } from 'petstore/platform';
import { Category } from '../categories/category.entity.js';

/** The availability of an animal. Orders change it; a client may also add an animal with any status, or with none. */
export enum PetStatus {
  Available = 'available',
  Pending = 'pending',
  Sold = 'sold',
}

/** An animal of the store. All accounts share one catalogue. */
@Entity('pets')
@Index('pets_status_id_idx', ['status', 'id'])
@Index('pets_category_id_id_idx', ['categoryId', 'id'])
@Index('pets_status_category_id_id_idx', ['status', 'categoryId', 'id'])
@Check('pets_name_check', `char_length(name) BETWEEN 1 AND 255`)
@Check('pets_status_check', `status IN ('available', 'pending', 'sold')`)
export class Pet {
  @IdColumn('pets_pkey')
  id!: string;

  @Column('text')
  name!: string;

  @Column('bigint', { name: 'category_id' })
  @ForeignKey(() => Category, { name: 'pets_category_id_fkey' })
  categoryId!: string;

  @Column('text', { nullable: true })
  status!: PetStatus | null;
}
