import { Controller, Get, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { AccountId, Operation, Reply, type ReplyHeaders, Stability } from 'petstore/platform';
import { DogV2Dto, ListDogsQuery, toDogV2 } from './dog-v2.dto.js';
import { DogsService } from './dogs.service.js';

@ApiTags('kennel')
@Stability('experimental')
@Controller({ path: 'dogs', version: '2' })
export class DogsV2Controller {
  constructor(private readonly dogs: DogsService) {}

  @Get()
  @Operation({
    id: 'listDogsV2',
    summary: 'List your dogs',
    description: 'All your dogs, or the dogs that changed in a period.',
    needs: 'kennel:read',
    returns: [DogV2Dto],
  })
  async list(
    @AccountId() accountId: string,
    @Query() query: ListDogsQuery,
    @Reply() reply: ReplyHeaders,
  ): Promise<readonly DogV2Dto[]> {
    return reply.page(await this.dogs.list(accountId, query)).items.map(toDogV2);
  }
}
