import { Check, Column, Entity, Unique } from 'typeorm';
import { IdColumn } from 'petstore/platform';

/** A kind of animal. All accounts share one catalogue. */
@Entity('categories')
@Unique('categories_name_key', ['name'])
@Check('categories_name_check', `char_length(name) BETWEEN 1 AND 255`)
export class Category {
  @IdColumn('categories_pkey')
  id!: string;

  @Column('text')
  name!: string;
}
