import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { Idempotent, Operation, PageQuery, Reply, type ReplyHeaders, Tag } from 'petstore/platform';
import { NewVetV2Dto, toVetV2, VetV2Dto } from './vet-v2.dto.js';
import { VetParams } from './vet.dto.js';
import { VetsService } from './vets.service.js';

@Tag('vets', 'The vets of the store.')
@Controller({ path: 'vets', version: '2' })
export class VetsV2Controller {
  constructor(private readonly vets: VetsService) {}

  @Get()
  @Operation({
    id: 'listVetsV2',
    summary: 'List vets by their full names',
    description: 'The vets, which all accounts share.',
    returns: [VetV2Dto],
  })
  async list(@Query() query: PageQuery, @Reply() reply: ReplyHeaders): Promise<readonly VetV2Dto[]> {
    return reply.page(await this.vets.list(query)).items.map(toVetV2);
  }

  @Post()
  @Idempotent()
  @Operation({
    id: 'createVetV2',
    summary: 'Add a vet',
    description: 'Its id is assigned by the service.',
    returns: VetV2Dto,
    status: 201,
    located: true,
  })
  async create(@Body() { fullName }: NewVetV2Dto, @Reply() reply: ReplyHeaders): Promise<VetV2Dto> {
    return toVetV2(reply.created(await this.vets.create({ name: fullName })));
  }

  @Get(':vetId')
  @Operation({
    id: 'getVetV2',
    summary: 'Fetch a vet with its full name',
    description: 'By its id, as `GET /v2/vets` lists it.',
    returns: VetV2Dto,
    errors: { vet_not_found: 404 },
  })
  async get(@Param() { vetId }: VetParams): Promise<VetV2Dto> {
    return toVetV2(await this.vets.get(vetId));
  }
}
