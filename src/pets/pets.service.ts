import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ApiError } from '../common/api-error.js';
import { type Page, paginate } from '../common/paging.js';
import { Transactions } from '../database/transactions.js';
import { violation } from '../database/violations.js';
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

  /** @throws ApiError `category_not_found` (400) where the category is not there */
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

  /**
   * Takes an available animal for an order; called in the transaction that writes the order.
   * @throws ApiError `pet_not_available`, or `pet_not_found` (400)
   */
  async reserve(id: string): Promise<void> {
    const { manager } = this.transactions;
    const available = { id, status: PetStatus.Available };
    const { affected } = await manager.update(Pet, available, { status: PetStatus.Pending });
    if (affected) return;
    const exists = await manager.existsBy(Pet, { id });
    throw exists
      ? new ApiError('pet_not_available')
      : new ApiError('pet_not_found', undefined, { status: 400 });
  }

  /** Gives a reserved animal its next status; called in the transaction that changes its order. */
  async settle(id: string, status: PetStatus): Promise<void> {
    await this.transactions.manager.update(Pet, { id }, { status });
  }
}
