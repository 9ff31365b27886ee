import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Idempotent,
  Insert,
  Operation,
  type Page,
  PageQuery,
  Reply,
  type ReplyHeaders,
  Stability,
} from 'petstore/platform';
import { NewVetDto, VetDto, VetParams } from './vet.dto.js';
import { Vet } from './vet.entity.js';
import { VetsService } from './vets.service.js';

@ApiTags('vets')
@Stability('experimental')
@Controller('vets')
export class VetsController {
  constructor(private readonly vets: VetsService) {}

  @Get()
  @Operation({
    id: 'listVets',
    summary: 'List vets',
    description: 'The vets of the store.',
    needs: 'vets:read',
    returns: [VetDto],
  })
  async list(@Query() query: PageQuery, @Reply() reply: ReplyHeaders): Promise<Page<VetDto>> {
    return reply.page(await this.vets.list(query));
  }

  @Post()
  @Idempotent('insert')
  @Operation({
    id: 'createVet',
    summary: 'Add a new vet',
    description: 'Its id is assigned by the service.',
    needs: 'vets:write',
    returns: VetDto,
    status: 201,
    located: true,
  })
  create(@Body() body: NewVetDto): Insert<Vet> {
    return this.vets.adding(body);
  }

  @Get(':vetId')
  @Operation({
    id: 'getVet',
    summary: 'Fetch one vet',
    description: 'By its id, as `GET /vets` lists it.',
    needs: 'vets:read',
    returns: VetDto,
    errors: { vet_not_found: 404 },
  })
  get(@Param() { vetId }: VetParams): Promise<VetDto> {
    return this.vets.get(vetId);
  }
}
