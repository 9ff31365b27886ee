import { Check, Column, Entity, Unique } from 'typeorm';
import { IdColumn } from 'petstore/platform';

/** What vets are good at. */
@Entity('specialties')
@Unique('specialties_name_key', ['name'])
@Check('specialties_name_check', `char_length(name) BETWEEN 1 AND 80`)
export class Specialty {
  @IdColumn('specialties_pkey')
  id!: string;

  @Column('text')
  name!: string;
}
