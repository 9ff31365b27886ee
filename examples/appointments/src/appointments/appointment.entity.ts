import { Check, Column, Entity, ForeignKey, Index } from 'typeorm';
import { IdColumn } from 'petstore/platform';
import { Account } from 'petstore/product';
import { Pet } from 'petstore/product';

export enum AppointmentStatus {
  Booked = 'booked',
  Kept = 'kept',
  Cancelled = 'cancelled',
}

/** An account's appointment for one animal. */
@Entity('appointments')
@Index('appointments_account_id_starts_at_id_idx', ['accountId', 'startsAt', 'id'])
@Index('appointments_account_id_status_starts_at_id_idx', ['accountId', 'status', 'startsAt', 'id'])
@Index('appointments_pet_id_idx', ['petId'])
@Check('appointments_minutes_check', `minutes BETWEEN 5 AND 240`)
@Check('appointments_note_check', `char_length(note) BETWEEN 1 AND 1000`)
@Check('appointments_status_check', `status IN ('booked', 'kept', 'cancelled')`)
export class Appointment {
  @IdColumn('appointments_pkey')
  id!: string;

  @Column('bigint', { name: 'account_id' })
  @ForeignKey(() => Account, { name: 'appointments_account_id_fkey' })
  accountId!: string;

  @Column('bigint', { name: 'pet_id' })
  @ForeignKey(() => Pet, { name: 'appointments_pet_id_fkey' })
  petId!: string;

  @Column({ type: 'timestamptz', name: 'starts_at', precision: 3 })
  startsAt!: Date;

  @Column('integer')
  minutes!: number;

  @Column('text', { nullable: true })
  note!: string | null;

  @Column('text')
  status!: AppointmentStatus;
}
