import { Injectable } from '@nestjs/common';
import {
  ApiError,
  FastRepository,
  InjectFastRepository,
  Insert,
  insert,
  type Page,
  type Requirement,
  setting,
  violation,
} from 'petstore/platform';
import type { ListPetsQuery, NewPetDto } from './pet.dto.js';
import { Pet, PetStatus } from './pet.entity.js';

const CATEGORY_MISSING = violation(Pet, 'pets_category_id_fkey', 'category_not_found', 400);

const RESERVED = { status: PetStatus.Pending };

@Injectable()
export class PetsService {
  constructor(@InjectFastRepository(Pet) private readonly pets: FastRepository<Pet>) {}

  list({ status, categoryId, ids, ...page }: ListPetsQuery): Promise<Page<Pet>> {
    return this.pets.page({ status, categoryId, id: ids }, page);
  }

  /** @throws ApiError `category_not_found` (400) if the category does not exist */
  create(pet: NewPetDto): Promise<Pet> {
    return this.adding(pet).run();
  }

  /** The `Insert` that `create` sends. */
  adding({ name, categoryId, status }: NewPetDto): Insert<Pet> {
    return insert(this.pets, { name, categoryId, status: status ?? null }).refusing(CATEGORY_MISSING);
  }

  /** @throws ApiError `pet_not_found` */
  get(id: string): Promise<Pet> {
    return this.pets.getRow({ id }, 'pet_not_found');
  }

  /** The animal, locked until the open transaction ends, for a rule of another feature. @throws ApiError `pet_not_found` */
  hold(id: string): Promise<Pet> {
    return this.pets.changeRow({ id }, 'pet_not_found', () => {});
  }

  /** Reserves an available animal, as a requirement of an `insert`, which else throws `pet_not_available` or `pet_not_found` (400). */
  reserving(id: string): Requirement {
    return setting(this.pets, { id, status: PetStatus.Available }, RESERVED, () => this.refuse(id));
  }

  /** Sets the next status of reserved animals. */
  async settle(ids: readonly string[], status: PetStatus): Promise<void> {
    await this.pets.updateRows({ id: ids }, { status });
  }

  private async refuse(id: string): Promise<never> {
    const exists = await this.pets.findRow({ id });
    throw exists
      ? new ApiError('pet_not_available')
      : new ApiError('pet_not_found', undefined, { status: 400 });
  }
}
