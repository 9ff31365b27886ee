import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ApiError } from '../platform/api/api-error.js';
import type { Page } from '../platform/api/paging.js';
import { paginate } from '../platform/data/paginate.js';
import { Transactions } from '../platform/data/transactions.js';
import { violation } from '../platform/data/violations.js';
import { PetStatus } from '../pets/pet.entity.js';
import { PetsService } from '../pets/pets.service.js';
import type { ListOrdersQuery, NewOrderDto } from './order.dto.js';
import { Order, OrderStatus } from './order.entity.js';
import { Placements } from './placements.js';

/** Where an order can go from each status. */
const NEXT: Record<OrderStatus, OrderStatus[]> = {
  [OrderStatus.Placed]: [OrderStatus.Approved, OrderStatus.Cancelled],
  [OrderStatus.Approved]: [OrderStatus.Delivered, OrderStatus.Cancelled],
  [OrderStatus.Delivered]: [],
  [OrderStatus.Cancelled]: [],
};

/** What an order makes of its animal when it gets there. */
const PET_STATUS: Partial<Record<OrderStatus, PetStatus>> = {
  [OrderStatus.Delivered]: PetStatus.Sold,
  [OrderStatus.Cancelled]: PetStatus.Available,
};

/** The orders of one account each: another account's order is as good as none. */
@Injectable()
export class OrdersService {
  constructor(
    @InjectRepository(Order) private readonly orders: Repository<Order>,
    private readonly transactions: Transactions,
    private readonly pets: PetsService,
    private readonly placements: Placements,
  ) {}

  list(accountId: string, { status, ...page }: ListOrdersQuery): Promise<Page<Order>> {
    return paginate(this.orders, { accountId, status }, page);
  }

  /**
   * Takes the animal and writes its order.
   * @throws ApiError `pet_not_available`, or `pet_not_found` (400)
   */
  async place(accountId: string, { petId }: NewOrderDto): Promise<Order> {
    const order = await this.placements
      .write({ accountId, petId })
      // Only an animal whose status was set past its open order gets there.
      .catch(violation('orders_open_pet_id_key', 'pet_not_available'));
    if (!order) throw await this.pets.refusal(petId);
    return order;
  }

  /** @throws ApiError `order_not_found` */
  async get(accountId: string, id: string): Promise<Order> {
    const order = await this.orders.findOneBy({ id, accountId });
    if (!order) throw new ApiError('order_not_found');
    return order;
  }

  /** @throws ApiError `order_not_found`, `invalid_transition` */
  move(accountId: string, id: string, status: OrderStatus): Promise<Order> {
    return this.transactions.change(Order, { id, accountId }, 'order_not_found', async (order) => {
      if (!NEXT[order.status].includes(status)) {
        throw new ApiError('invalid_transition', `The order is ${order.status} and cannot become ${status}.`);
      }
      const petStatus = PET_STATUS[status];
      if (petStatus) await this.pets.settle(order.petId, petStatus);
      order.status = status;
    });
  }
}
