import { Injectable } from '@nestjs/common';
import { ApiError } from '../platform/api/api-error.js';
import type { Page } from '../platform/api/paging.js';
import { InjectFastRepository } from '../platform/data/data.module.js';
import { FastRepository } from '../platform/data/fast-repository.js';
import { startingWith } from '../platform/data/range.js';
import { Transactions } from '../platform/data/transactions.js';
import { violation } from '../platform/data/violations.js';
import type { ListOwnersQuery, NewOwnerDto, OwnerChangeDto } from './owner.dto.js';
import { Owner } from './owner.entity.js';

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
    const { affected } = await this.transactions.manager
      .delete(Owner, { id })
      .catch(violation('visits_owner_id_fkey', 'owner_has_visits'));
    if (!affected) throw new ApiError('owner_not_found');
  }
}
