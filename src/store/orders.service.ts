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

/** Where an order can go from each status, if its account wants so; when that is closed, every open one is cancelled. */
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

/** The statuses of orders that hold their animal. */
const OPEN = [OrderStatus.Placed, OrderStatus.Approved];

const PET_TAKEN = violation('orders_open_pet_id_key', 'pet_not_available');

/** The orders of one account each: another account's order is as good as none. */
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
   * Takes the animal and writes its order.
   * @throws ApiError `pet_not_available`, or `pet_not_found` (400)
   */
  place(by: Caller, order: NewOrderDto): Promise<Order> {
    return this.placing(by, order).run();
  }

  /** The same, before it is sent. */
  placing(by: Caller, { petId }: NewOrderDto): Insert<Order> {
    const { accountId } = by;
    return (
      insert(this.orders, { accountId, petId, status: OrderStatus.Placed })
        .requiring(this.pets.reserving(petId))
        .with(this.audit.of(changeOf(by, { petId }, OrderStatus.Placed)))
        // Only an animal whose status was set past its open order gets there.
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
      if (petStatus) await this.pets.settle(order.petId, petStatus);
      await this.audit.add({ ...changeOf(by, order, status, order.status), subjectId: id });
      order.status = status;
    });
  }

  /** Cancels orders with a status, of an account that is closed, at most so many, in the open transaction. */
  private async cancelAll(by: Caller, status: OrderStatus, limit: number): Promise<number> {
    const { items } = await this.orders.page({ accountId: by.accountId, status }, { limit });
    if (items.length === 0) return 0;
    const found = { id: items.map(({ id }) => id), status };
    // Others may have changed some meanwhile.
    const cancelled = await this.orders.updateRows(found, { status: OrderStatus.Cancelled });
    const petIds = cancelled.map(({ petId }) => petId);
    await this.pets.settleAll(petIds, PetStatus.Available);
    const changes = cancelled.map((order) => ({
      ...changeOf(by, order, OrderStatus.Cancelled, status),
      subjectId: order.id,
    }));
    await this.audit.add(...changes);
    return items.length;
  }
}

/** What the audit log has of an order that gets to a status, from another unless it is new. */
function changeOf(by: Caller, { petId }: Pick<Order, 'petId'>, to: OrderStatus, from?: OrderStatus): Change {
  // Assigned by the service, so exact.
  return { by, action: `order.${to}`, details: { petId: Number(petId), from } };
}
