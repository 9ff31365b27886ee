import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import type { CompiledEntityManager } from '../platform/data/compiled-entity-manager.js';
import type { PreparedQuery } from '../platform/data/prepared-query.js';
import { Transactions } from '../platform/data/transactions.js';
import { PetsService } from '../pets/pets.service.js';
import { Order, OrderStatus } from './order.entity.js';

interface Placement {
  accountId: string;
  petId: string;
}

const COLUMNS = ['id', 'accountId', 'petId', 'status', 'createdAt', 'updatedAt'] as const;

/** Places orders: one statement takes the animals and writes the orders of all who order at the same time. */
@Injectable()
export class Placements {
  private readonly place: (placement: Placement) => Promise<Order | undefined>;
  private readonly query: PreparedQuery<Order> = {
    name: 'place',
    columns: COLUMNS,
    parameters: ['petIds', 'accountIds'],
    build: () =>
      this.orders
        .createQueryBuilder()
        .insert()
        .addCommonTableExpression(this.pets.reservation(), 'reserved')
        .into(Order, ['accountId', 'petId', 'status'])
        .valuesFromSelect((reserved) =>
          reserved
            .select('(CAST(:accountIds AS bigint[]))[array_position(CAST(:petIds AS bigint[]), reserved.id)]')
            .addSelect('reserved.id')
            .addSelect(`'${OrderStatus.Placed}'`)
            .from('reserved', 'reserved'),
        )
        .returning([...COLUMNS]),
  };

  constructor(
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    private readonly pets: PetsService,
    transactions: Transactions,
  ) {
    this.place = transactions.grouped((placements, manager) => this.writeAll(placements, manager));
  }

  /** Resolves to the order, or undefined if the animal is not available. */
  write(placement: Placement): Promise<Order | undefined> {
    return this.place(placement);
  }

  private async writeAll(
    placements: Placement[],
    manager: CompiledEntityManager,
  ): Promise<(Order | undefined)[]> {
    // Of several who want one animal the first gets it.
    const first = new Map(placements.toReversed().map((placement) => [placement.petId, placement]));
    const petIds = [...first.keys()];
    const accountIds = petIds.map((petId) => first.get(petId)!.accountId);
    const orders = await manager.prepared(Order, this.query, { petIds, accountIds });
    const byPet = new Map(orders.map((order) => [order.petId, this.orders.create(order)]));
    return placements.map((one) => (first.get(one.petId) === one ? byPet.get(one.petId) : undefined));
  }
}
