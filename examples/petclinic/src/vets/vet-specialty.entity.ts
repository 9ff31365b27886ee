import { Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import { Specialty } from './specialty.entity.js';
import { Vet } from './vet.entity.js';

/** That a vet has a specialty: one of many, of which each is had by many. */
@Entity('vet_specialties')
@Index('vet_specialties_specialty_id_idx', ['specialtyId'])
export class VetSpecialty {
  @PrimaryColumn('bigint', { name: 'vet_id', primaryKeyConstraintName: 'vet_specialties_pkey' })
  @ForeignKey(() => Vet, { name: 'vet_specialties_vet_id_fkey' })
  vetId!: string;

  @PrimaryColumn('bigint', { name: 'specialty_id', primaryKeyConstraintName: 'vet_specialties_pkey' })
  @ForeignKey(() => Specialty, { name: 'vet_specialties_specialty_id_fkey' })
  specialtyId!: string;
}
