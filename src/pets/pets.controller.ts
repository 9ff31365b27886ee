import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Idempotent,
  Insert,
  Operation,
  type Page,
  Reply,
  type ReplyHeaders,
  Sunset,
} from 'petstore/platform';
import { ListPetsQuery, NewPetDto, PetDto, PetParams } from './pet.dto.js';
import { Pet } from './pet.entity.js';
import { PetsService } from './pets.service.js';

@ApiTags('pets')
@Controller('pets')
export class PetsController {
  constructor(private readonly pets: PetsService) {}

  @Get()
  @Operation({
    id: 'listPets',
    summary: 'List animals',
    description: 'The animals of the store, all or filtered by status, category or ids.',
    needs: 'pets:read',
    returns: [PetDto],
  })
  async list(@Query() query: ListPetsQuery, @Reply() reply: ReplyHeaders): Promise<Page<PetDto>> {
    return reply.page(await this.pets.list(query));
  }

  @Post()
  @Idempotent('insert')
  @Operation({
    id: 'createPet',
    summary: 'Add an animal',
    description: 'The category must exist; `GET /categories` lists all categories.',
    needs: 'pets:write',
    returns: PetDto,
    status: 201,
    located: true,
    errors: { category_not_found: 400 },
  })
  create(@Body() body: NewPetDto): Insert<Pet> {
    return this.pets.adding(body);
  }

  @Get(':petId')
  @Operation({
    id: 'getPet',
    summary: 'Fetch an animal',
    description: 'Use `GET /pets` instead: with `ids` for known animals, or with the `status` filter.',
    needs: 'pets:read',
    returns: PetDto,
    errors: { pet_not_found: 404 },
  })
  @Sunset({ deprecated: '2026-11-21', sunset: '2030-12-05', successor: '/v1/pets' })
  get(@Param() { petId }: PetParams): Promise<PetDto> {
    return this.pets.get(petId);
  }
}
