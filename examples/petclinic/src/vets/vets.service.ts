import { Injectable } from '@nestjs/common';
import {
  FastRepository,
  InjectFastRepository,
  type Page,
  type PageQuery,
  Transactions,
} from 'petstore/platform';
import { SpecialtiesService } from './specialties.service.js';
import type { NewVetDto } from './vet.dto.js';
import { Vet } from './vet.entity.js';

@Injectable()
export class VetsService {
  constructor(
    @InjectFastRepository(Vet) private readonly vets: FastRepository<Vet>,
    private readonly specialties: SpecialtiesService,
    private readonly transactions: Transactions,
  ) {}

  async list(query: PageQuery): Promise<Page<Vet>> {
    const page = await this.vets.page({}, query);
    await this.complete(page.items);
    return page;
  }

  /** @throws ApiError `specialty_not_found` (400) */
  create({ firstName, lastName, specialtyIds }: NewVetDto): Promise<Vet> {
    return this.transactions.run(async () => {
      const vet = await this.vets.addRow({ firstName, lastName });
      await this.specialties.give(vet.id, specialtyIds);
      await this.complete([vet]);
      return vet;
    });
  }

  /** @throws ApiError `vet_not_found` */
  async get(id: string): Promise<Vet> {
    const vet = await this.vets.getRow({ id }, 'vet_not_found');
    await this.complete([vet]);
    return vet;
  }

  private async complete(vets: readonly Vet[]): Promise<void> {
    const all = await this.specialties.of(vets.map(({ id }) => id));
    for (const vet of vets) vet.specialties = all.get(vet.id)!;
  }
}
