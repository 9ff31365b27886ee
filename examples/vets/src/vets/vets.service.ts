import { Injectable } from '@nestjs/common';
import {
  FastRepository,
  InjectFastRepository,
  Insert,
  type Page,
  PageQuery,
  insert,
} from 'petstore/platform';
import { NewVetDto } from './vet.dto.js';
import { Vet } from './vet.entity.js';

@Injectable()
export class VetsService {
  constructor(@InjectFastRepository(Vet) private readonly vets: FastRepository<Vet>) {}

  list(page: PageQuery): Promise<Page<Vet>> {
    return this.vets.page({}, page);
  }

  adding({ name }: NewVetDto): Insert<Vet> {
    return insert(this.vets, { name });
  }

  /** @throws ApiError `vet_not_found` */
  get(id: string): Promise<Vet> {
    return this.vets.getRow({ id }, 'vet_not_found');
  }
}
