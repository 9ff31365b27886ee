import { Check, Column, Entity, ForeignKey, Index } from 'typeorm';
import { IdColumn } from 'petstore/platform';
import { Account, Pet } from 'petstore/product';

export enum AppointmentStatus {
  Booked = 'booked',
  Kept = 'kept',
  Cancelled = 'cancelled',
}

/** One appointment of an account. */
@Entity('appointments')
@Index('appointments_account_id_id_idx', ['accountId', 'id'])
@Index('appointments_account_id_status_id_idx', ['accountId', 'status', 'id'])
@Index('appointments_pet_id_idx', ['petId'])
@Check('appointments_minutes_check', `minutes BETWEEN 5 AND 240`)
@Check('appointments_note_check', `char_length(note) BETWEEN 1 AND 1000`)
@Check('appointments_status_check', `status IN ('booked', 'kept', 'cancelled')`)
export class Appointment {
  @IdColumn('appointments_pkey')
  id!: string;

  @Column({ type: 'bigint', name: 'account_id' })
  @ForeignKey(() => Account, { name: 'appointments_account_id_fkey' })
  accountId!: string;

  @Column({ type: 'bigint', name: 'pet_id' })
  @ForeignKey(() => Pet, { name: 'appointments_pet_id_fkey' })
  petId!: string;

  @Column({ type: 'timestamptz', name: 'starts_at', precision: 3 })
  startsAt!: Date;

  @Column('integer')
  minutes!: number;

  @Column({ type: 'text', nullable: true })
  note!: string | null;

  @Column('text')
  status!: AppointmentStatus;
}
