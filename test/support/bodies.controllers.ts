import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiSchema, ApiTags } from '@nestjs/swagger';
import {
  EnumField,
  Idempotent,
  Int64Param,
  IntegerField,
  IntegerParam,
  PageQuery,
  Page,
  Reply,
  type ReplyHeaders,
  Sends,
  Sunset,
  TextField,
} from '../../src/platform/index.js';
import { Does } from './tried.js';
import { ToldDto } from './every-field.js';

/** Operations with a body and without a body, by every method that may have a body. */

class ThingParams {
  @Int64Param({ description: 'Identifier.' }) thingId!: string;
}

class ReasonDto {
  @TextField({ description: 'Why.', example: 'Too old.', max: 20 }) reason!: string;
}

class FeedingDto {
  @IntegerField({ description: 'Grams.', example: 7, min: 1, max: 9, optional: true }) grams = 5;
}

class TimesQuery {
  @IntegerParam({ description: 'How often.', min: 1, max: 9, optional: true }) times = 1;
}

@ApiSchema({ name: 'NewThing' })
class NewThingDto {
  @EnumField({ description: 'Its size.', name: 'ThingSize', values: { tiny: 'Tiny.', huge: 'Huge.' } })
  size!: string;
}

class HiddenDto {
  @EnumField({ description: 'Its mood.', name: 'HiddenMood', values: { glad: 'Glad.' } }) mood!: string;
}

const HIDDEN_WEBHOOK = {
  id: 'sendHidden',
  summary: 'Hidden',
  description: 'In no document, as the operation is not.',
  body: HiddenDto,
  headers: {},
  answers: { '2XX': 'Received.' },
};

const told = (...values: unknown[]): ToldDto => ({ told: JSON.stringify(values) });

@ApiTags('bodies')
@Controller('bodies')
export class BodiesController {
  @Post()
  @Sunset({ deprecated: '2026-11-21', sunset: '2099-12-05', successor: '/v2/bodies' })
  @Does('nothing', { status: 201, returns: ToldDto })
  add(@Body() body: NewThingDto): ToldDto {
    return told(body);
  }

  @Post('hidden')
  @ApiExcludeEndpoint()
  @Sends(HIDDEN_WEBHOOK)
  @Does('nothing', { returns: HiddenDto })
  addHidden(@Body() body: HiddenDto): HiddenDto {
    return body;
  }

  @Post(':thingId/feed')
  @Does('nothing', { returns: ToldDto })
  feed(@Param() { thingId }: ThingParams): ToldDto {
    return told(thingId);
  }

  @Post(':thingId/brush')
  @Does('nothing', { bodyOptional: true, returns: ToldDto })
  brush(@Param() { thingId }: ThingParams): ToldDto {
    return told(thingId);
  }

  @Post(':thingId/feast')
  @Does('nothing', { bodyOptional: true, returns: ToldDto })
  feast(@Body() { grams }: FeedingDto): ToldDto {
    return told(grams);
  }

  @Patch(':thingId')
  @Does('nothing', { returns: ToldDto })
  change(
    @Param() { thingId }: ThingParams,
    @Query() { times }: TimesQuery,
    @Body() body: ReasonDto,
  ): ToldDto {
    return told(thingId, times, body);
  }

  @Delete(':thingId')
  @Idempotent()
  @Does('nothing', { returns: ToldDto })
  remove(@Param() { thingId }: ThingParams, @Body() { reason }: ReasonDto): ToldDto {
    return told(thingId, reason);
  }

  @Get()
  @Sunset({ deprecated: '2026-11-21', sunset: '2099-12-05', successor: '/v2/bodies' })
  @Does('nothing', { returns: [ToldDto] })
  list(@Query() query: PageQuery, @Reply() reply: ReplyHeaders): Page<ToldDto & { id: string }> {
    const slice = { rows: ['1'], last: query.cursor === undefined ? { id: '1' } : undefined };
    return reply.page(new Page(slice, { mark: 'bodies' }, (id) => ({ id: String(id), told: '' })));
  }
}
