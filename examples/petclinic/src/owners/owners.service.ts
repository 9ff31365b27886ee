import { Injectable } from '@nestjs/common';
import {
  ApiError,
  FastRepository,
  InjectFastRepository,
  type Page,
  startingWith,
  Transactions,
  violation,
} from 'petstore/platform';
import type { ListOwnersQuery, NewOwnerDto, OwnerChangeDto } from './owner.dto.js';
import { Owner } from './owner.entity.js';

const HAS_VISITS = violation('visits_owner_id_fkey', 'owner_has_visits');

@Injectable()
export class OwnersService {
  constructor(
    @InjectFastRepository(Owner) private readonly owners: FastRepository<Owner>,
    private readonly transactions: Transactions,
  ) {}

  list({ lastName, ...page }: ListOwnersQuery): Promise<Page<Owner>> {
    return this.owners.page({ lastName: startingWith(lastName) }, { ...page, sort: 'lastName' });
  }

  create(body: NewOwnerDto): Promise<Owner> {
    return this.owners.addRow(this.owners.create(body));
  }

  /** @throws ApiError `owner_not_found` */
  get(id: string): Promise<Owner> {
    return this.owners.getRow({ id }, 'owner_not_found');
  }

  /** @throws ApiError `owner_not_found` */
  update(id: string, changes: OwnerChangeDto): Promise<Owner> {
    return this.owners.changeRow({ id }, 'owner_not_found', (owner) => this.owners.merge(owner, changes));
  }

  /** @throws ApiError `owner_not_found`, or `owner_has_visits` */
  async remove(id: string): Promise<void> {
    const { affected } = await this.transactions.manager.delete(Owner, { id }).catch(HAS_VISITS);
    if (!affected) throw new ApiError('owner_not_found');
  }
}
