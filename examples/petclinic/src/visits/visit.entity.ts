import { Check, Column, Entity, ForeignKey, Index } from 'typeorm';
import { decimalText, IdColumn, unitsOf } from 'petstore/platform';
import { Owner } from '../owners/owner.entity.js';
import { Pet } from 'petstore/product';

/** What a visit costs beyond its own price. */
export interface VisitItem {
  name: string;
  price: string;
}

/** A visit of an animal to the clinic. */
@Entity('visits')
@Index('visits_pet_id_date_id_idx', ['petId', 'date', 'id'])
@Index('visits_owner_id_idx', ['ownerId'])
@Check('visits_description_check', `char_length(description) BETWEEN 1 AND 255`)
@Check('visits_price_check', `price >= 0`)
export class Visit {
  @IdColumn('visits_pkey')
  id!: string;

  @Column('bigint', { name: 'pet_id' })
  @ForeignKey(() => Pet, { name: 'visits_pet_id_fkey' })
  petId!: string;

  @Column('bigint', { name: 'owner_id' })
  @ForeignKey(() => Owner, { name: 'visits_owner_id_fkey' })
  ownerId!: string;

  @Column('date')
  date!: string;

  @Column('text')
  description!: string;

  @Column('numeric', { precision: 12, scale: 2 })
  price!: string;

  @Column('jsonb')
  items!: VisitItem[];

  /** All that is to be paid, to the cent. */
  get total(): string {
    const prices = [this.price, ...this.items.map(({ price }) => price)];
    const cents = prices.reduce((sum, price) => sum + unitsOf(price, 2)!, 0n);
    return decimalText(cents, 2);
  }
}
