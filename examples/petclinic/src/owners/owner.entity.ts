import { Check, Column, Entity, Index } from 'typeorm';
import { IdColumn } from 'petstore/platform';

export interface Address {
  street: string;
  city: string;
  zip?: string;
}

/** Who brings an animal to the clinic. */
@Entity('owners')
@Index('owners_last_name_id_idx', ['lastName', 'id'])
@Check('owners_first_name_check', `char_length(first_name) BETWEEN 1 AND 30`)
@Check('owners_last_name_check', `char_length(last_name) BETWEEN 1 AND 30`)
@Check('owners_telephone_check', `telephone ~ '^[0-9]{1,10}$'`)
@Check('owners_email_check', `char_length(email) <= 254`)
@Check('owners_tags_check', `cardinality(tags) <= 10`)
export class Owner {
  @IdColumn('owners_pkey')
  id!: string;

  @Column('text', { name: 'first_name' })
  firstName!: string;

  // In the order of code points, so that names can be searched by their beginning.
  @Column({ type: 'text', name: 'last_name', collation: 'C' })
  lastName!: string;

  @Column('jsonb')
  address!: Address;

  @Column('text')
  telephone!: string;

  @Column('text', { nullable: true })
  email!: string | null;

  @Column('text', { array: true })
  tags!: string[];

  @Column('boolean')
  newsletter!: boolean;
}
