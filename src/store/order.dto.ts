import { ApiSchema } from '@nestjs/swagger';
import { EnumField, Int64Field, Int64Param, PageQuery, TimestampField } from 'petstore/platform';
import { OrderStatus } from './order.entity.js';

const ORDER_STATUS = {
  name: 'OrderStatus',
  values: {
    [OrderStatus.Placed]: 'The order holds the animal, which is now pending.',
    [OrderStatus.Approved]: 'The store has agreed to the order.',
    [OrderStatus.Delivered]: 'The animal has reached its new owner and is sold. Final.',
    [OrderStatus.Cancelled]: 'The animal is available again. Final.',
  },
};

const PET_ID = { description: 'Identifier of the ordered animal.', example: 1 };

@ApiSchema({ name: 'NewOrder' })
export class NewOrderDto {
  @Int64Field(PET_ID)
  petId!: string;
}

@ApiSchema({ name: 'OrderChange' })
export class OrderChangeDto {
  @EnumField({
    description: 'From `placed` to `approved` or `cancelled`; from `approved` to `delivered` or `cancelled`.',
    example: 'approved',
    ...ORDER_STATUS,
  })
  status!: OrderStatus;
}

@ApiSchema({ name: 'Order' })
export class OrderDto {
  @Int64Field({ description: 'Identifier of the order.', example: 1 })
  id!: string;

  @Int64Field(PET_ID)
  petId!: string;

  @EnumField({ description: 'Progress of the order.', example: 'placed', ...ORDER_STATUS })
  status!: OrderStatus;

  @TimestampField({ description: 'When the order was placed.', example: '2026-11-21T12:00:00.000Z' })
  createdAt!: Date;

  @TimestampField({ description: 'When its status last changed.', example: '2026-11-21T12:00:00.000Z' })
  updatedAt!: Date;
}

export class OrderParams {
  @Int64Param({ description: 'Identifier of the order.', example: 1 })
  orderId!: string;
}

export class ListOrdersQuery extends PageQuery {
  @EnumField({ description: 'Only orders with this status.', optional: true, ...ORDER_STATUS })
  status?: OrderStatus;
}
