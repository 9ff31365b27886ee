import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import {
  Idempotent,
  Operation,
  type Page,
  PageQuery,
  Reply,
  type ReplyHeaders,
  Stability,
  Tag,
} from 'petstore/platform';
import { NewSpecialtyDto, SpecialtyDto, SpecialtyParams } from './specialty.dto.js';
import { SpecialtiesService } from './specialties.service.js';

@Tag('vets', 'The vets of the clinic, and what they are good at.')
@Stability('experimental')
@Controller('specialties')
export class SpecialtiesController {
  constructor(private readonly specialties: SpecialtiesService) {}

  @Get()
  @Operation({
    id: 'listSpecialties',
    summary: 'List specialties',
    description: 'What vets can be good at.',
    returns: [SpecialtyDto],
  })
  async list(@Query() query: PageQuery, @Reply() reply: ReplyHeaders): Promise<Page<SpecialtyDto>> {
    return reply.page(await this.specialties.list(query));
  }

  @Post()
  @Idempotent({ writesRow: true })
  @Operation({
    id: 'createSpecialty',
    summary: 'Add a specialty',
    description: 'Its name must be new.',
    returns: SpecialtyDto,
    status: 201,
    located: true,
    errors: { specialty_exists: 409 },
  })
  async create(@Body() body: NewSpecialtyDto, @Reply() reply: ReplyHeaders): Promise<SpecialtyDto> {
    return reply.created(await this.specialties.create(body));
  }

  @Get(':specialtyId')
  @Operation({
    id: 'getSpecialty',
    summary: 'Fetch a specialty',
    description: 'By its id, as `GET /specialties` lists it.',
    returns: SpecialtyDto,
    errors: { specialty_not_found: 404 },
  })
  get(@Param() { specialtyId }: SpecialtyParams): Promise<SpecialtyDto> {
    return this.specialties.get(specialtyId);
  }
}
