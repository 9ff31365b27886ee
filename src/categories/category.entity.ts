import { Check, Column, Entity, PrimaryGeneratedColumn, Unique } from 'typeorm';

/** A kind of animal. Categories are one catalogue for all accounts. */
@Entity('categories')
@Unique('categories_name_key', ['name'])
@Check('categories_name_check', `char_length(name) BETWEEN 1 AND 255`)
export class Category {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    primaryKeyConstraintName: 'categories_pkey',
    generatedIdentity: 'ALWAYS',
  })
  id!: string;

  @Column('text')
  name!: string;
}
