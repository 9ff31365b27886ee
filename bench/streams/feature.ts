import { Readable } from 'node:stream';
import {
  Body,
  Controller,
  Get,
  type MessageEvent,
  Post,
  Put,
  Query,
  Sse,
  StreamableFile,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { map, type Observable } from 'rxjs';
import { Events, Feature, IntegerParam, Operation, RowStreams, TextField } from 'petstore/platform';

class Amount {
  @IntegerParam({
    min: 1,
    max: 100_000_000,
    description: 'How many rows, or megabytes.',
    example: 3,
    optional: true,
  })
  count = 3;
}

class Said {
  @TextField({ max: 1_000, description: 'What is said.', example: 'Hello' })
  text!: string;
}

const MEGABYTE = Buffer.alloc(1_000_000, 'x');

/** The measured operations, each in the few lines that the docs show. */
@ApiTags('bulk')
@Controller('bulk')
class BulkController {
  constructor(
    private readonly events: Events,
    private readonly rows: RowStreams,
  ) {}

  @Get('rows')
  @Operation({ id: 'bulkRows', summary: 'Export rows', needs: 'pets:read' })
  async exported(@Query() { count }: Amount): Promise<StreamableFile> {
    const rows = await this.rows.stream<{ id: string; text: string }>({
      sql: `SELECT generate_series(1, $1::bigint) AS id, repeat('x', 20) AS text`,
      parameters: [count],
    });
    return new StreamableFile(Readable.from(csvOf(rows)), { type: 'text/csv' });
  }

  @Get('download')
  @Operation({ id: 'bulkDownload', summary: 'Download', needs: 'pets:read' })
  download(@Query() { count }: Amount): StreamableFile {
    return new StreamableFile(Readable.from(megabytes(count)));
  }

  @Put('picture')
  @Operation({
    id: 'bulkPicture',
    summary: 'Upload a picture',
    needs: 'pets:write',
    takes: { types: ['image/png'], maxBytes: 5_000_000 },
  })
  picture(@Body() bytes: Buffer): { size: number } {
    return { size: bytes.length };
  }

  @Post('said')
  @Operation({ id: 'bulkSay', summary: 'Say something', needs: 'pets:write', status: 204 })
  say(@Body() { text }: Said): Promise<void> {
    return this.events.publish('said', text);
  }

  @Sse('heard')
  @Operation({ id: 'bulkHear', summary: 'Hear what is said', needs: 'pets:read' })
  heard(): Observable<MessageEvent> {
    return this.events.of<string>('said').pipe(map((data) => ({ data })));
  }
}

async function* csvOf(rows: AsyncIterable<{ id: string; text: string }>): AsyncGenerator<string> {
  let part = 'id,text\n';
  for await (const { id, text } of rows) {
    part += `${id},${text}\n`;
    if (part.length < 65_536) continue;
    yield part;
    part = '';
  }
  yield part;
}

function* megabytes(count: number): Generator<Buffer> {
  for (let i = 0; i < count; i++) yield MEGABYTE;
}

@Feature({ name: 'bulk', tags: { bulk: 'What is not a small JSON body.' }, controllers: [BulkController] })
export class BulkModule {}
