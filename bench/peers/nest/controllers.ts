import { Body, Controller, Get, Headers, HttpCode, Param, Post, Query, Req, Res } from '@nestjs/common';
import type { Request, Response } from 'express';
import { DEPRECATION, linkToNext, locate } from '../shared.js';
import { AccountId } from './auth.js';
import { ListPetsQuery, NewMessageDto, NewOrderDto, NewPetDto, PetParams } from './dto.js';
import type { Message, Order, Pet } from './entities.js';
import { MessagesService, OrdersService, PetsService } from './services.js';

@Controller('pets')
export class PetsController {
  constructor(private readonly pets: PetsService) {}

  @Get()
  async list(
    @Query() query: ListPetsQuery,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Pet[]> {
    const { pets, next } = await this.pets.list(query);
    if (next) response.set('Link', linkToNext(request.get('host'), request.query, next));
    return pets;
  }

  @Post()
  async create(
    @Body() body: NewPetDto,
    @Headers('host') host: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Pet> {
    const pet = await this.pets.create(body);
    response.set('Location', locate(host, 'pets', pet.id));
    return pet;
  }

  @Get(':petId')
  async get(@Param() { petId }: PetParams, @Res({ passthrough: true }) response: Response): Promise<Pet> {
    response.set(DEPRECATION);
    return this.pets.get(petId);
  }
}

@Controller('store/orders')
export class OrdersController {
  constructor(private readonly orders: OrdersService) {}

  @Post()
  async place(
    @AccountId() accountId: string,
    @Body() { petId }: NewOrderDto,
    @Headers('host') host: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Order> {
    const order = await this.orders.place(accountId, petId);
    response.set('Location', locate(host, 'store/orders', order.id));
    return order;
  }
}

@Controller('messages')
export class MessagesController {
  constructor(private readonly messages: MessagesService) {}

  @Post()
  @HttpCode(202)
  async submit(
    @AccountId() accountId: string,
    @Body() { message }: NewMessageDto,
    @Headers('host') host: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Message> {
    const submitted = await this.messages.submit(accountId, message);
    response.set('Location', locate(host, 'messages', submitted.id));
    return submitted;
  }
}
