import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import type { CompiledEntityManager, PreparedQuery } from '../database/compiled/compiled-entity-manager.js';
import { Transactions } from '../database/transactions.js';
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
  /** Gives the order, or undefined where the animal is not available. */
  readonly write: (placement: Placement) => Promise<Order | undefined>;

  constructor(
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    private readonly pets: PetsService,
    transactions: Transactions,
  ) {
    this.write = transactions.grouped((placements, manager) => this.writeAll(placements, manager));
  }

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
