import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { DataSource, MoreThan, QueryFailedError, Repository } from 'typeorm';
import { ApiError } from '../../../src/platform/api/api-error.js';
import { readCursor } from '../shared.js';
import type { ListPetsQuery, NewPetDto } from './dto.js';
import { Message, Order, Pet } from './entities.js';

@Injectable()
export class PetsService {
  constructor(@InjectRepository(Pet) private readonly pets: Repository<Pet>) {}

  async list({ limit, status, cursor }: ListPetsQuery): Promise<{ pets: Pet[]; next?: string }> {
    const pets = await this.pets.find({
      where: { ...(status && { status }), ...(cursor && { id: MoreThan(readCursor(cursor)) }) },
      order: { id: 'ASC' },
      take: limit + 1,
    });
    if (pets.length <= limit) return { pets };
    pets.pop();
    return { pets, next: pets.at(-1)!.id };
  }

  async get(id: string): Promise<Pet> {
    const pet = await this.pets.findOneBy({ id });
    if (!pet) throw new ApiError('pet_not_found');
    return pet;
  }

  async create({ name, categoryId, status = null }: NewPetDto): Promise<Pet> {
    try {
      return await this.pets.save(this.pets.create({ name, categoryId, status }));
    } catch (error) {
      const isForeignKey = error instanceof QueryFailedError && error.driverError.code === '23503';
      throw isForeignKey ? new ApiError('category_not_found', undefined, { status: 400 }) : error;
    }
  }
}

@Injectable()
export class OrdersService {
  constructor(private readonly database: DataSource) {}

  place(accountId: string, petId: string): Promise<Order> {
    return this.database.transaction(async (manager) => {
      const pet = await manager.findOne(Pet, { where: { id: petId }, lock: { mode: 'pessimistic_write' } });
      if (!pet) throw new ApiError('pet_not_found', undefined, { status: 400 });
      if (pet.status !== 'available') throw new ApiError('pet_not_available');
      pet.status = 'pending';
      await manager.save(pet);
      return manager.save(manager.create(Order, { accountId, petId, status: 'placed' }));
    });
  }
}

@Injectable()
export class MessagesService {
  constructor(@InjectRepository(Message) private readonly messages: Repository<Message>) {}

  submit(accountId: string, message: string): Promise<Message> {
    return this.messages.save(this.messages.create({ accountId, message, status: 'queued' }));
  }
}
