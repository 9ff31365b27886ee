import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  AccountId,
  By,
  type Caller,
  EntityTags,
  Idempotent,
  IfMatch,
  Insert,
  needsBy,
  Operation,
  type Page,
  Precondition,
  Reply,
  type ReplyHeaders,
  Stability,
} from 'petstore/platform';
import { ListOrdersQuery, NewOrderDto, OrderChangeDto, OrderDto, OrderParams } from './order.dto.js';
import { Order, OrderStatus } from './order.entity.js';
import { OrdersService } from './orders.service.js';

@ApiTags('store')
@Stability('beta')
@EntityTags(OrderDto)
@Controller('store/orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Get()
  @Operation({
    id: 'listOrders',
    summary: 'List your orders',
    description: 'Only the orders of your account, in every status or in one.',
    needs: 'orders:read',
    returns: [OrderDto],
  })
  async list(
    @AccountId() accountId: string,
    @Query() query: ListOrdersQuery,
    @Reply() reply: ReplyHeaders,
  ): Promise<Page<OrderDto>> {
    return reply.page(await this.orders.list(accountId, query));
  }

  @Post()
  @Idempotent('insert')
  @Operation({
    id: 'placeOrder',
    summary: 'Order an animal',
    description: 'The animal must be available; the order makes it pending.',
    needs: 'orders:write',
    returns: OrderDto,
    status: 201,
    located: true,
    errors: { pet_not_found: 400, pet_not_available: 409 },
  })
  place(@By() by: Caller, @Body() body: NewOrderDto): Insert<Order> {
    return this.orders.placing(by, body);
  }

  @Get(':orderId')
  @Operation({
    id: 'getOrder',
    summary: 'Fetch one of your orders',
    description: 'To change the order, send its `ETag` in `If-Match`.',
    needs: 'orders:read',
    returns: OrderDto,
    errors: { order_not_found: 404 },
  })
  get(@AccountId() accountId: string, @Param() { orderId }: OrderParams): Promise<OrderDto> {
    return this.orders.get(accountId, orderId);
  }

  @Patch(':orderId')
  @Idempotent()
  @Operation({
    id: 'updateOrder',
    summary: 'Approve, deliver or cancel an order',
    description:
      '`delivered` makes the animal sold; `cancelled` makes it available again. Cancelling needs `orders:write`; approving and delivering need `orders:manage`.',
    needs: needsBy(OrderChangeDto, 'status', {
      // No order returns to this status.
      [OrderStatus.Placed]: ['orders:write', 'orders:manage'],
      [OrderStatus.Approved]: 'orders:manage',
      [OrderStatus.Delivered]: 'orders:manage',
      [OrderStatus.Cancelled]: 'orders:write',
    }),
    returns: OrderDto,
    errors: { order_not_found: 404, invalid_transition: 409 },
  })
  update(
    @By() by: Caller,
    @Param() { orderId }: OrderParams,
    @Body() { status }: OrderChangeDto,
    @IfMatch() precondition: Precondition,
  ): Promise<OrderDto> {
    return this.orders.move(by, orderId, status, precondition);
  }
}
