import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Controller, Get, Query, Redirect, Req, Res, StreamableFile } from '@nestjs/common';
import { ApiOkResponse, ApiSchema, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { BooleanParam, EnumField, Operation, Public, TextField } from '../../src/platform/index.js';
import { Does } from './tried.js';
import { ROOT } from './npm.js';
import { PIXEL } from './uploads.controller.js';

export const SENT = join(ROOT, 'docs/reference.png');

const CSV = { types: ['text/csv'] };
const CSV_EXAMPLE = { 'text/csv': { schema: { type: 'string' }, example: 'id,name\n1,Luna\n' } };
const ROWS = [
  { id: '1', name: 'Luna' },
  { id: '2', name: 'Zoë' },
];
const csvOf = (rows: readonly { id: string; name: string }[]) =>
  `id,name\n${rows.map(({ id, name }) => `${id},${name}\n`).join('')}`;

@ApiSchema({ name: 'Row' })
class Row {
  @TextField({ description: 'Its id.', example: '1', max: 10 }) id!: string;
  @TextField({ description: 'Its name.', example: 'Luna', max: 100 }) name!: string;
}

const WAYS = { text: 'As a text.', file: 'As a file.', generated: 'As it comes.' };

class Asked {
  @EnumField({ name: 'Way', values: WAYS, description: 'How the method gives it.' }) way!: string;
}

class Waiting {
  @BooleanParam({ description: 'Whether it takes longer.', example: false }) later = false;
}

/** Answers of a team other than JSON with 200. */
@Public()
@ApiTags('answers')
@Controller('answers')
export class AnswersController {
  @Get('csv')
  @ApiOkResponse({ description: 'The rows.', content: CSV_EXAMPLE })
  @Does(undefined, { gives: CSV })
  csv(@Query() { way }: Asked): string | StreamableFile | AsyncIterable<string> {
    const text = csvOf(ROWS);
    if (way === 'text') return text;
    return way === 'file' ? new StreamableFile(Buffer.from(text)) : parts(text);
  }

  @Get('rows')
  @Operation({
    id: 'getRow',
    summary: 'A row, as JSON or CSV',
    returns: Row,
    gives: { ...CSV, types: ['application/json', 'text/csv'] },
  })
  either(@Req() request: Request, @Res({ passthrough: true }) response: Response): Row | string {
    if (request.accepts(['application/json', 'text/csv']) === 'application/json') return ROWS[0]!;
    response.type('text/csv');
    return csvOf(ROWS.slice(0, 1));
  }

  @Get('report')
  @Does(undefined, { returns: Row, successes: [{ status: 200, gives: CSV }, { status: 202 }] })
  report(@Query() { later }: Waiting, @Res({ passthrough: true }) response: Response): Row | string {
    if (!later) {
      response.type('text/csv');
      return csvOf(ROWS);
    }
    response.status(202);
    return ROWS[0]!;
  }

  @Get('picture')
  @Does(undefined, { gives: { types: ['image/png'] } })
  picture(): StreamableFile {
    return new StreamableFile(PIXEL);
  }

  @Get('sent')
  @Does(undefined, { gives: { types: ['image/png'] } })
  sent(@Res() response: Response): void {
    response.sendFile(SENT);
  }

  @Get('moved')
  @Redirect('/v1/answers/known', 302)
  @Does(undefined, { status: 302 })
  moved(): void {}

  @Get('known')
  @Does(undefined, { returns: Row, successes: [{ status: 200 }, { status: 304 }] })
  known(): Row {
    return ROWS[0]!;
  }
}

async function* parts(text: string): AsyncGenerator<string> {
  for await (const part of Readable.from([text.slice(0, 3), text.slice(3)])) yield part as string;
}
