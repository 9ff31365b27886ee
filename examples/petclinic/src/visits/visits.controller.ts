import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import {
  Idempotent,
  Operation,
  type Page,
  Reply,
  type ReplyHeaders,
  Stability,
  Tag,
} from 'petstore/platform';
import { ListVisitsQuery, NewVisitDto, PetVisitsParams, VisitDto, VisitParams } from './visit.dto.js';
import { VisitsService } from './visits.service.js';

@Tag('visits', 'The visits of animals to the clinic.')
@Stability('experimental')
@Controller('pets/:petId/visits')
export class VisitsController {
  constructor(private readonly visits: VisitsService) {}

  @Get()
  @Operation({
    id: 'listVisits',
    summary: 'List the visits of an animal',
    description: 'All visits of the animal, or those between two days.',
    returns: [VisitDto],
    sorted: 'the newest first',
    errors: { pet_not_found: 404 },
  })
  async list(
    @Param() { petId }: PetVisitsParams,
    @Query() query: ListVisitsQuery,
    @Reply() reply: ReplyHeaders,
  ): Promise<Page<VisitDto>> {
    return reply.page(await this.visits.list(petId, query));
  }

  @Post()
  @Idempotent()
  @Operation({
    id: 'createVisit',
    summary: 'Add a visit of an animal',
    description: 'The owner must be there, and the animal not be sold.',
    returns: VisitDto,
    status: 201,
    located: true,
    errors: { pet_not_found: 404, pet_sold: 409, owner_not_found: 400 },
  })
  async create(
    @Param() { petId }: PetVisitsParams,
    @Body() body: NewVisitDto,
    @Reply() reply: ReplyHeaders,
  ): Promise<VisitDto> {
    return reply.created(await this.visits.create(petId, body));
  }

  @Get(':visitId')
  @Operation({
    id: 'getVisit',
    summary: 'Fetch a visit',
    description: 'By its id, as the list of the visits of the animal has it.',
    returns: VisitDto,
    errors: { visit_not_found: 404 },
  })
  get(@Param() { petId, visitId }: VisitParams): Promise<VisitDto> {
    return this.visits.get(petId, visitId);
  }

  @Delete(':visitId')
  @Idempotent()
  @Operation({
    id: 'deleteVisit',
    summary: 'Delete a visit',
    description: 'It is gone at once, and for good.',
    status: 204,
    errors: { visit_not_found: 404 },
  })
  remove(@Param() { petId, visitId }: VisitParams): Promise<void> {
    return this.visits.remove(petId, visitId);
  }
}
