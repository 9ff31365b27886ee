import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import {
  Idempotent,
  Operation,
  type Page,
  Reply,
  type ReplyHeaders,
  Stability,
  Tag,
} from 'petstore/platform';
import { ListOwnersQuery, NewOwnerDto, OwnerChangeDto, OwnerDto, OwnerParams } from './owner.dto.js';
import { OwnersService } from './owners.service.js';

@Tag('owners', 'Who brings animals to the clinic.')
@Stability('experimental')
@Controller('owners')
export class OwnersController {
  constructor(private readonly owners: OwnersService) {}

  @Get()
  @Operation({
    id: 'listOwners',
    summary: 'List owners',
    description: 'All owners, or those whose last name begins with a text.',
    returns: [OwnerDto],
    sorted: 'in the order of last names',
  })
  async list(@Query() query: ListOwnersQuery, @Reply() reply: ReplyHeaders): Promise<Page<OwnerDto>> {
    return reply.page(await this.owners.list(query));
  }

  @Post()
  @Idempotent({ writesRow: true })
  @Operation({
    id: 'createOwner',
    summary: 'Add an owner',
    description: 'Its id is assigned by the service.',
    returns: OwnerDto,
    status: 201,
    located: true,
  })
  async create(@Body() body: NewOwnerDto, @Reply() reply: ReplyHeaders): Promise<OwnerDto> {
    return reply.created(await this.owners.create(body));
  }

  @Get(':ownerId')
  @Operation({
    id: 'getOwner',
    summary: 'Fetch an owner',
    description: 'By its id, as `GET /owners` lists it.',
    returns: OwnerDto,
    errors: { owner_not_found: 404 },
  })
  get(@Param() { ownerId }: OwnerParams): Promise<OwnerDto> {
    return this.owners.get(ownerId);
  }

  @Patch(':ownerId')
  @Idempotent({ writesRow: true })
  @Operation({
    id: 'updateOwner',
    summary: 'Change an owner',
    description: 'What is left out stays as it is; `null` removes the email.',
    returns: OwnerDto,
    errors: { owner_not_found: 404 },
  })
  update(@Param() { ownerId }: OwnerParams, @Body() changes: OwnerChangeDto): Promise<OwnerDto> {
    return this.owners.update(ownerId, changes);
  }

  @Delete(':ownerId')
  @Idempotent()
  @Operation({
    id: 'deleteOwner',
    summary: 'Delete an owner',
    description: 'Only one without visits can be deleted.',
    status: 204,
    errors: { owner_not_found: 404, owner_has_visits: 409 },
  })
  remove(@Param() { ownerId }: OwnerParams): Promise<void> {
    return this.owners.remove(ownerId);
  }
}
