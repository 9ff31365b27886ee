import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ApiError } from '../platform/api/api-error.js';
import type { Page, PageQuery } from '../platform/api/paging.js';
import { paginate } from '../platform/data/paginate.js';
import { Transactions } from '../platform/data/transactions.js';
import type { NewVetDto } from './vet.dto.js';
import { Vet } from './vet.entity.js';

@Injectable()
export class VetsService {
  constructor(
    @InjectRepository(Vet) private readonly vets: Repository<Vet>,
    private readonly transactions: Transactions,
  ) {}

  list(page: PageQuery): Promise<Page<Vet>> {
    return paginate(this.vets, {}, page);
  }

  async create({ name }: NewVetDto): Promise<Vet> {
    const vet = this.vets.create({ name });
    await this.transactions.manager.insert(Vet, vet);
    return vet;
  }

  /** @throws ApiError `vet_not_found` */
  async get(id: string): Promise<Vet> {
    const vet = await this.vets.findOneBy({ id });
    if (!vet) throw new ApiError('vet_not_found');
    return vet;
  }
}
