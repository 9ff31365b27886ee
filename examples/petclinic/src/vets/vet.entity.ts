import { Check, Column, Entity } from 'typeorm';
import { IdColumn } from 'petstore/platform';
import type { Specialty } from './specialty.entity.js';

@Entity('vets')
@Check('vets_first_name_check', `char_length(first_name) BETWEEN 1 AND 30`)
@Check('vets_last_name_check', `char_length(last_name) BETWEEN 1 AND 30`)
export class Vet {
  @IdColumn('vets_pkey')
  id!: string;

  @Column('text', { name: 'first_name' })
  firstName!: string;

  @Column('text', { name: 'last_name' })
  lastName!: string;

  /** Read by the service, from a table of their own. */
  specialties!: Specialty[];
}
