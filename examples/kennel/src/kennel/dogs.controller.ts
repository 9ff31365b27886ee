import { Readable } from 'node:stream';
import {
  Body,
  Controller,
  Get,
  Headers,
  type MessageEvent,
  Param,
  Patch,
  Put,
  Query,
  Res,
  Sse,
  StreamableFile,
} from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import type { Observable } from 'rxjs';
import {
  AccountId,
  Idempotent,
  Operation,
  type Page,
  Reply,
  type ReplyHeaders,
  Stability,
} from 'petstore/platform';
import { BreedReportDto, DogChangeDto, DogDto, DogParams, ID, NewDogDto, SearchQuery } from './kennel.dto.js';
import { DogsService } from './dogs.service.js';

const exampleOf = (type: string, example: string) => ({ [type]: { schema: { type: 'string' }, example } });

@ApiTags('kennel')
@Stability('experimental')
@Controller('dogs')
export class DogsController {
  constructor(private readonly dogs: DogsService) {}

  @Get()
  @Operation({
    id: 'searchDogs',
    summary: 'Search your dogs',
    description: 'Finds dogs by words of their names and breeds.',
    needs: 'kennel:read',
    sorted: 'the best matches first',
    returns: [DogDto],
  })
  async search(
    @AccountId() accountId: string,
    @Query() query: SearchQuery,
    @Reply() reply: ReplyHeaders,
  ): Promise<Page<DogDto>> {
    return reply.page(await this.dogs.search(accountId, query));
  }

  @Get('export')
  @Operation({
    id: 'exportDogs',
    summary: 'Export your dogs',
    description: 'All your dogs, as CSV.',
    needs: 'kennel:read',
    gives: { types: ['text/csv'] },
  })
  @ApiOkResponse({ content: exampleOf('text/csv', `id,name,breed\n${ID.example},Luna,Beagle\n`) })
  async export(@AccountId() accountId: string): Promise<StreamableFile> {
    return new StreamableFile(Readable.from(csvOf(await this.dogs.all(accountId))));
  }

  @Sse('events')
  @Operation({
    id: 'watchDogs',
    summary: 'Watch your dogs',
    description: 'Sends an event for each dog that is added or replaced, starting after `Last-Event-ID`.',
    needs: 'kennel:read',
    gives: { types: ['text/event-stream'] },
  })
  @ApiOkResponse({
    content: exampleOf('text/event-stream', `id: 2030-01-31T12:00:00.000Z\ndata: {"id":"${ID.example}"}\n\n`),
  })
  watch(
    @AccountId() accountId: string,
    @Headers('last-event-id') lastEventId?: string,
  ): Observable<MessageEvent> {
    return this.dogs.watch(accountId, lastEventId);
  }

  @Get('breeds')
  @Operation({
    id: 'countBreeds',
    summary: 'Count the breeds',
    description: 'Counts all your dogs by breed, which may take ten seconds.',
    needs: 'kennel:read',
    seconds: 10,
    returns: BreedReportDto,
  })
  async countBreeds(@AccountId() accountId: string): Promise<BreedReportDto> {
    return { breeds: await this.dogs.countBreeds(accountId) };
  }

  @Put(':dogId')
  @Idempotent()
  @Operation({
    id: 'putDog',
    summary: 'Add or replace one of your dogs',
    description: 'The dog has the id of the path. A replaced dog loses optional fields that you leave out.',
    needs: 'kennel:write',
    returns: DogDto,
    successes: [
      { status: 200, means: 'Replaced.' },
      { status: 201, located: true },
    ],
    errors: { dog_not_found: 404, photo_not_found: 400 },
  })
  async put(
    @AccountId() accountId: string,
    @Param() { dogId }: DogParams,
    @Body() body: NewDogDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<DogDto> {
    const { dog, isNew } = await this.dogs.put(accountId, dogId, body);
    if (isNew) response.status(201);
    return dog;
  }

  @Patch(':dogId')
  @Idempotent()
  @Operation({
    id: 'updateDog',
    summary: 'Change one of your dogs',
    description: 'Fields that you leave out keep their values; `null` removes an optional value.',
    needs: 'kennel:write',
    returns: DogDto,
    errors: { dog_not_found: 404, photo_not_found: 400 },
  })
  update(
    @AccountId() accountId: string,
    @Param() { dogId }: DogParams,
    @Body() changes: DogChangeDto,
  ): Promise<DogDto> {
    return this.dogs.update(accountId, dogId, changes);
  }

  @Get(':dogId')
  @Operation({
    id: 'getDog',
    summary: 'Fetch one of your dogs',
    description: 'By the id under which you added it.',
    needs: 'kennel:read',
    returns: DogDto,
    errors: { dog_not_found: 404 },
  })
  get(@AccountId() accountId: string, @Param() { dogId }: DogParams): Promise<DogDto> {
    return this.dogs.get(accountId, dogId);
  }
}

/** CSV in pieces of 64 kB. Values with commas, quotes or line breaks are quoted (RFC 4180). */
async function* csvOf(rows: AsyncIterable<Record<'id' | 'name' | 'breed', string>>): AsyncGenerator<string> {
  let part = 'id,name,breed\n';
  for await (const { id, name, breed } of rows) {
    part += `${id},${quoted(name)},${quoted(breed)}\n`;
    if (part.length < 65_536) continue;
    yield part;
    part = '';
  }
  yield part;
}

const quoted = (text: string) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
