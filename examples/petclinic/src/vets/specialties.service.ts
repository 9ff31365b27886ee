import { Injectable } from '@nestjs/common';
import { In } from 'typeorm';
import {
  FastRepository,
  InjectFastRepository,
  type Page,
  type PageQuery,
  Transactions,
  violation,
} from 'petstore/platform';
import type { NewSpecialtyDto } from './specialty.dto.js';
import { Specialty } from './specialty.entity.js';
import { VetSpecialty } from './vet-specialty.entity.js';

/** Each vet's by an index, whatever the planner believes of how many there are. */
const HELD = `
  SELECT vet.id AS "vetId", held.specialty_id AS "specialtyId"
  FROM unnest($1::bigint[]) AS vet (id),
    LATERAL (SELECT specialty_id FROM vet_specialties WHERE vet_id = vet.id LIMIT 10) AS held`;

const NAME_TAKEN = violation('specialties_name_key', 'specialty_exists');
const SPECIALTY_MISSING = violation('vet_specialties_specialty_id_fkey', 'specialty_not_found', 400);

@Injectable()
export class SpecialtiesService {
  constructor(
    @InjectFastRepository(Specialty) private readonly specialties: FastRepository<Specialty>,
    @InjectFastRepository(VetSpecialty) private readonly held: FastRepository<VetSpecialty>,
    private readonly transactions: Transactions,
  ) {}

  list(page: PageQuery): Promise<Page<Specialty>> {
    return this.specialties.page({}, page);
  }

  /** @throws ApiError `specialty_exists` */
  create({ name }: NewSpecialtyDto): Promise<Specialty> {
    return this.specialties.addRow({ name }).catch(NAME_TAKEN);
  }

  /** @throws ApiError `specialty_not_found` */
  get(id: string): Promise<Specialty> {
    return this.specialties.getRow({ id }, 'specialty_not_found');
  }

  /** Gives a vet specialties, in the open transaction. @throws ApiError `specialty_not_found` (400) */
  async give(vetId: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    await this.held.addRows(ids.map((specialtyId) => ({ vetId, specialtyId }))).catch(SPECIALTY_MISSING);
  }

  /** The specialties of some vets, by two statements however many they are. */
  async of(vetIds: readonly string[]): Promise<Map<string, Specialty[]>> {
    const { manager } = this.transactions;
    const held = await manager.query<VetSpecialty[]>(HELD, [vetIds]);
    const ids = new Set(held.map(({ specialtyId }) => specialtyId));
    const where = { id: In([...ids]) };
    const all = ids.size === 0 ? [] : await manager.find(Specialty, { where, order: { id: 'ASC' } });
    const has = new Set(held.map(({ vetId, specialtyId }) => `${vetId} ${specialtyId}`));
    return new Map(vetIds.map((vetId) => [vetId, all.filter(({ id }) => has.has(`${vetId} ${id}`))]));
  }
}
