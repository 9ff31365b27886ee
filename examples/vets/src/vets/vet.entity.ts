import { Check, Column, Entity } from 'typeorm';
import { IdColumn } from 'petstore/platform';

/** A vet. All accounts share the vets. */
@Entity('vets')
@Check('vets_name_check', `char_length(name) BETWEEN 1 AND 255`)
export class Vet {
  @IdColumn('vets_pkey')
  id!: string;

  @Column('text')
  name!: string;
}
