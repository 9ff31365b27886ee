import { Injectable } from '@nestjs/common';
import {
  AccountClosing,
  ApiError,
  AuditLog,
  type Caller,
  type Change,
  FastRepository,
  InjectFastRepository,
  Insert,
  insert,
  type Page,
  type Precondition,
  violation,
} from 'petstore/platform';
import { PetStatus } from '../pets/pet.entity.js';
import { PetsService } from '../pets/pets.service.js';
import type { ListOrdersQuery, NewOrderDto } from './order.dto.js';
import { Order, OrderStatus } from './order.entity.js';

/** The transitions that an account may make, as `OrderChangeDto` and the guide first-steps describe them. Closing the account cancels every open order. */
const NEXT: Record<OrderStatus, OrderStatus[]> = {
  [OrderStatus.Placed]: [OrderStatus.Approved, OrderStatus.Cancelled],
  [OrderStatus.Approved]: [OrderStatus.Delivered, OrderStatus.Cancelled],
  [OrderStatus.Delivered]: [],
  [OrderStatus.Cancelled]: [],
};

/** The status of the animal after a transition of its order. */
const PET_STATUS: Partial<Record<OrderStatus, PetStatus>> = {
  [OrderStatus.Delivered]: PetStatus.Sold,
  [OrderStatus.Cancelled]: PetStatus.Available,
};

const OPEN = [OrderStatus.Placed, OrderStatus.Approved];

const PET_TAKEN = violation(Order, 'orders_open_pet_id_key', 'pet_not_available');

/** The orders of each account: an order of another account counts as missing. */
@Injectable()
export class OrdersService {
  constructor(
    @InjectFastRepository(Order) private readonly orders: FastRepository<Order>,
    private readonly pets: PetsService,
    private readonly audit: AuditLog,
    closing: AccountClosing,
  ) {
    for (const status of OPEN) closing.add((by, limit) => this.cancelAll(by, status, limit));
  }

  list(accountId: string, { status, ...page }: ListOrdersQuery): Promise<Page<Order>> {
    return this.orders.page({ accountId, status }, page);
  }

  /**
   * The `Insert` of a new order that reserves its animal, not yet sent.
   * @throws ApiError `pet_not_available`, or `pet_not_found` (400), from its `run`
   */
  placing(by: Caller, { petId }: NewOrderDto): Insert<Order> {
    const { accountId } = by;
    return (
      insert(this.orders, { accountId, petId, status: OrderStatus.Placed })
        .requiring(this.pets.reserving(petId))
        .with(this.audit.of(changeOf(by, { petId }, OrderStatus.Placed)))
        // Only an animal that was made available despite its open order violates the index.
        .refusing(PET_TAKEN)
    );
  }

  /** @throws ApiError `order_not_found` */
  get(accountId: string, id: string): Promise<Order> {
    return this.orders.getRow({ id, accountId }, 'order_not_found');
  }

  /** @throws ApiError `order_not_found`, `precondition_failed`, `invalid_transition` */
  move(by: Caller, id: string, status: OrderStatus, precondition?: Precondition): Promise<Order> {
    const where = { id, accountId: by.accountId };
    return this.orders.changeRow(where, 'order_not_found', async (order) => {
      precondition?.require(order);
      if (!NEXT[order.status].includes(status)) {
        throw new ApiError('invalid_transition', `The order is ${order.status} and cannot become ${status}.`);
      }
      const petStatus = PET_STATUS[status];
      if (petStatus) await this.pets.settle([order.petId], petStatus);
      await this.audit.add({ ...changeOf(by, order, status, order.status), subjectId: id });
      order.status = status;
    });
  }

  /** Cancels at most `limit` orders with a status, of an account that is being closed, in the open transaction. */
  private async cancelAll(by: Caller, status: OrderStatus, limit: number): Promise<number> {
    const { items } = await this.orders.page({ accountId: by.accountId, status }, { limit });
    if (items.length === 0) return 0;
    const found = { id: items.map(({ id }) => id), status };
    // Other requests may have changed some of these orders.
    const cancelled = await this.orders.updateRows(found, { status: OrderStatus.Cancelled });
    const petIds = cancelled.map(({ petId }) => petId);
    await this.pets.settle(petIds, PetStatus.Available);
    const changes = cancelled.map((order) => ({
      ...changeOf(by, order, OrderStatus.Cancelled, status),
      subjectId: order.id,
    }));
    await this.audit.add(...changes);
    return items.length;
  }
}

function changeOf(by: Caller, { petId }: Pick<Order, 'petId'>, to: OrderStatus, from?: OrderStatus): Change {
  // `Number` is exact, as the service has assigned the id.
  return { by, action: `order.${to}`, details: { petId: Number(petId), from } };
}
