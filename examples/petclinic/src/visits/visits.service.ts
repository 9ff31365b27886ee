import { Injectable } from '@nestjs/common';
import {
  ApiError,
  between,
  FastRepository,
  InjectFastRepository,
  type Page,
  Transactions,
  violation,
} from 'petstore/platform';
import { PetsService, PetStatus } from 'petstore/product';
import type { ListVisitsQuery, NewVisitDto } from './visit.dto.js';
import { Visit } from './visit.entity.js';

const OWNER_MISSING = violation('visits_owner_id_fkey', 'owner_not_found', 400);

@Injectable()
export class VisitsService {
  constructor(
    @InjectFastRepository(Visit) private readonly visits: FastRepository<Visit>,
    private readonly pets: PetsService,
    private readonly transactions: Transactions,
  ) {}

  /** The visits of an animal, the newest first. @throws ApiError `pet_not_found` */
  async list(petId: string, { from, to, ...page }: ListVisitsQuery): Promise<Page<Visit>> {
    const filter = { petId, date: between(from, to) };
    const visits = await this.visits.page(filter, { ...page, sort: 'date', order: 'desc' });
    if (visits.untouched?.length === 0) await this.pets.get(petId);
    return visits;
  }

  /** @throws ApiError `pet_not_found`, `pet_sold`, or `owner_not_found` (400) */
  create(petId: string, body: NewVisitDto): Promise<Visit> {
    const { ownerId, date, description, price, items } = body;
    return this.transactions.run(async () => {
      // It cannot be sold before the visit is there.
      const { status } = await this.pets.hold(petId);
      if (status === PetStatus.Sold) throw new ApiError('pet_sold');
      return this.visits.addRow({ petId, ownerId, date, description, price, items }).catch(OWNER_MISSING);
    });
  }

  /** @throws ApiError `visit_not_found` */
  get(petId: string, id: string): Promise<Visit> {
    return this.visits.getRow({ id, petId }, 'visit_not_found');
  }

  /** @throws ApiError `visit_not_found` */
  async remove(petId: string, id: string): Promise<void> {
    const { affected } = await this.transactions.manager.delete(Visit, { id, petId });
    if (!affected) throw new ApiError('visit_not_found');
  }
}
