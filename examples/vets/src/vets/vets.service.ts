import { Injectable } from '@nestjs/common';
import { FastRepository, InjectFastRepository, type Page, PageQuery } from 'petstore/platform';
import { NewVetDto } from './vet.dto.js';
import { Vet } from './vet.entity.js';

@Injectable()
export class VetsService {
  constructor(@InjectFastRepository(Vet) private readonly vets: FastRepository<Vet>) {}

  list(page: PageQuery): Promise<Page<Vet>> {
    return this.vets.page({}, page);
  }

  create({ name }: NewVetDto): Promise<Vet> {
    return this.vets.addRow({ name });
  }

  /** @throws ApiError `vet_not_found` */
  get(id: string): Promise<Vet> {
    return this.vets.getRow({ id }, 'vet_not_found');
  }
}
