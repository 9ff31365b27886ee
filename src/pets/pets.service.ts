import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository, UpdateQueryBuilder } from 'typeorm';
import { ApiError } from '../platform/api/api-error.js';
import type { Page } from '../platform/api/paging.js';
import { paginate } from '../platform/data/paginate.js';
import { Transactions } from '../platform/data/transactions.js';
import { violation } from '../platform/data/violations.js';
import type { ListPetsQuery, NewPetDto } from './pet.dto.js';
import { Pet, PetStatus } from './pet.entity.js';

@Injectable()
export class PetsService {
  constructor(
    @InjectRepository(Pet) private readonly pets: Repository<Pet>,
    private readonly transactions: Transactions,
  ) {}

  list({ status, ids, ...page }: ListPetsQuery): Promise<Page<Pet>> {
    return paginate(this.pets, { status, ids }, page);
  }

  /** @throws ApiError `category_not_found` (400) if the category does not exist */
  async create({ name, categoryId, status }: NewPetDto): Promise<Pet> {
    const pet = this.pets.create({ name, categoryId, status: status ?? null });
    await this.transactions.manager
      .insert(Pet, pet)
      .catch(violation('pets_category_id_fkey', 'category_not_found', 400));
    return pet;
  }

  /** @throws ApiError `pet_not_found` */
  async get(id: string): Promise<Pet> {
    const pet = await this.pets.findOneBy({ id });
    if (!pet) throw new ApiError('pet_not_found');
    return pet;
  }

  /** Query that reserves the available ones of the animals `:petIds`: a CTE of the statement that writes the orders. */
  reservation(): UpdateQueryBuilder<Pet> {
    return this.pets
      .createQueryBuilder()
      .update()
      .set({ status: () => `'${PetStatus.Pending}'` })
      .where(`id = ANY(:petIds) AND status = '${PetStatus.Available}'`)
      .returning(['id']);
  }

  /** Why an animal could not be reserved. */
  async refusal(id: string): Promise<ApiError> {
    const exists = await this.transactions.manager.existsBy(Pet, { id });
    return exists
      ? new ApiError('pet_not_available')
      : new ApiError('pet_not_found', undefined, { status: 400 });
  }

  /** Gives a reserved animal its next status; called in the transaction that changes its order. */
  async settle(id: string, status: PetStatus): Promise<void> {
    await this.transactions.manager.update(Pet, { id }, { status });
  }
}
