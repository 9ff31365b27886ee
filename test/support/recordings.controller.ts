import { AsyncLocalStorage } from 'node:async_hooks';
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  BadRequestException,
  Body,
  Controller,
  Get,
  Header,
  Headers,
  Injectable,
  type MessageEvent,
  Post,
  Query,
  Res,
  Sse,
  StreamableFile,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { concat, concatMap, map, Observable, of, switchMap, throwError, timer } from 'rxjs';
import {
  Events,
  HandlesJob,
  IntegerParam,
  type Job,
  JobError,
  Jobs,
  Operation,
  RowStreams,
  TextField,
  Transactions,
} from '../../src/platform/index.js';

class Lines {
  @IntegerParam({
    min: 1,
    max: 100_000_000,
    description: 'How many lines there are.',
    example: 3,
    optional: true,
  })
  lines = 3;

  @IntegerParam({
    min: 0,
    max: 100_000_000,
    description: 'How many come before a failure.',
    example: 0,
    optional: true,
  })
  failsAfter = 0;

  @IntegerParam({
    min: 0,
    max: 60_000,
    description: 'Milliseconds between two lines.',
    example: 0,
    optional: true,
  })
  pauseMs = 0;

  @IntegerParam({
    min: 0,
    max: 60_000,
    description: 'Milliseconds until the first.',
    example: 0,
    optional: true,
  })
  firstMs = 0;
}

class Rows {
  @IntegerParam({
    min: 0,
    max: 100_000_000,
    description: 'How many rows there are.',
    example: 3,
    optional: true,
  })
  rows = 3;

  @IntegerParam({ min: 0, max: 10_000_000, description: 'How long each is.', example: 3, optional: true })
  bytes = 3;

  @IntegerParam({
    min: 0,
    max: 60_000,
    description: 'Milliseconds until the first.',
    example: 0,
    optional: true,
  })
  firstMs = 0;
}

class Said {
  @TextField({ max: 10_000, description: 'What is said.', example: 'Hello' })
  text!: string;
}

/** A file that does not fit into what a stream reads ahead. */
export const LATE_FILE = process.execPath;

/** What a team may write that is not a small JSON body, in Nest's own terms. */
@ApiTags('recordings')
@Controller('recordings')
export class RecordingsController {
  /** Files that were opened too late. */
  static opened = 0;
  /** Seconds that the database sleeps. */
  static wakesAfter = 0;
  /** What has been said, by its id. */
  private readonly said: { id: string; text: string }[] = [];

  constructor(
    private readonly events: Events,
    private readonly transactions: Transactions,
    private readonly rows: RowStreams,
    private readonly jobs: Jobs,
  ) {}

  @Get('report')
  @Operation({ id: 'getReport', summary: 'A report', needs: 'pets:read', seconds: 10 })
  report(): Promise<unknown> {
    return this.transactions.manager.query('SELECT pg_sleep(4), 1 AS done');
  }

  @Get('nap')
  @Operation({ id: 'getNap', summary: 'A nap', needs: 'pets:read', seconds: 3.5 })
  nap(): Promise<unknown> {
    return this.transactions.manager.query(`SELECT pg_sleep(${RecordingsController.wakesAfter}), 1 AS done`);
  }

  @Get('patient')
  @Operation({ id: 'waitLonger', summary: 'Wait', needs: 'pets:read', seconds: 3.5 })
  async patient(): Promise<void> {
    await pause(10_000);
  }

  @Get('lines')
  @Operation({ id: 'exportLines', summary: 'Export lines', needs: 'pets:read' })
  lines(@Query() query: Lines): StreamableFile {
    return new StreamableFile(Readable.from(linesOf(query)), { type: 'text/csv' });
  }

  @Get('piped')
  @Operation({ id: 'pipeLines', summary: 'Pipe lines', needs: 'pets:read' })
  piped(@Query() query: Lines, @Res() response: Response): void {
    Readable.from(linesOf(query)).pipe(response.type('text/csv'));
  }

  @Get('generated')
  @Operation({ id: 'generateLines', summary: 'Generate lines', needs: 'pets:read' })
  generated(@Query() query: Lines): AsyncIterable<string> {
    return linesOf(query);
  }

  @Get('rows')
  @Operation({ id: 'exportRows', summary: 'Export rows', needs: 'pets:read' })
  async exported(@Query() query: Rows): Promise<StreamableFile> {
    const { rows: count, bytes, firstMs } = query;
    const rows = await this.rows.stream<{ id: string; text: string }>({
      sql: `SELECT generate_series(1, $1::bigint) AS id, repeat('x', $2) AS text FROM pg_sleep($3::float / 1000)`,
      parameters: [count, bytes, firstMs],
    });
    return new StreamableFile(Readable.from(csvOf(rows)), { type: 'text/csv' });
  }

  @Get('built-rows')
  @Operation({ id: 'exportBuilt', summary: 'Export built rows', needs: 'pets:read' })
  async built(@Query() { rows: most }: Rows): Promise<StreamableFile> {
    const { manager } = this.transactions;
    const found = manager.createQueryBuilder().select('id').addSelect('name', 'text').from('categories', 'c');
    const rows = await this.rows.stream<{ id: string; text: string }>(
      found.where('id <= :most', { most }).orderBy('id'),
    );
    return new StreamableFile(Readable.from(csvOf(rows)), { type: 'text/csv' });
  }

  @Post('counted')
  @Operation({ id: 'countLater', summary: 'Count rows later', needs: 'pets:write', status: 204 })
  async countLater(): Promise<void> {
    await this.transactions.run(() => this.jobs.add('count-rows', { upTo: 100_000 }));
  }

  @Get('missing')
  @Operation({ id: 'missingFile', summary: 'A file that is not there', needs: 'pets:read' })
  missing(): StreamableFile {
    return new StreamableFile(createReadStream('/nowhere/at/all'));
  }

  @Get('failing-rows')
  @Operation({ id: 'exportFailing', summary: 'Export rows', needs: 'pets:read' })
  async failingRows(): Promise<StreamableFile> {
    const rows = await this.rows.stream<{ id: string; text: string }>({
      sql: `SELECT CASE WHEN i < 50000 THEN i ELSE ('what was sent ' || i)::int END AS id, 'x' AS text
            FROM generate_series(1, 100000) AS i`,
    });
    return new StreamableFile(Readable.from(csvOf(rows)), { type: 'text/csv' });
  }

  @Get('late-file')
  @Operation({ id: 'lateFile', summary: 'A file', needs: 'pets:read' })
  async lateFile(): Promise<StreamableFile> {
    await pause(3_000);
    RecordingsController.opened++;
    return new StreamableFile(createReadStream(LATE_FILE));
  }

  @Get('late-piped')
  @Operation({ id: 'latePiped', summary: 'A file by hand', needs: 'pets:read' })
  async latePiped(@Res() response: Response): Promise<void> {
    await pause(3_000);
    RecordingsController.opened++;
    createReadStream(LATE_FILE).pipe(response);
  }

  @Get('labelled')
  @Header('Content-Encoding', 'gzip')
  @Header('Content-Disposition', 'attachment')
  @Header('Cache-Control', 'public, max-age=60')
  @Header('ETag', '"one"')
  @Operation({ id: 'getLabelled', summary: 'An error', needs: 'pets:read' })
  labelled(): never {
    throw new BadRequestException('There is no such file.');
  }

  @Post('said')
  @Operation({ id: 'say', summary: 'Say something', needs: 'pets:write', status: 204 })
  async say(@Body() { text }: Said): Promise<void> {
    const one = { id: String(this.said.length + 1), text };
    await this.events.publish('said', one);
    this.said.push(one);
  }

  @Post('unsaid')
  @Operation({ id: 'unsay', summary: 'Say nothing', needs: 'pets:write', status: 204 })
  async unsay(@Body() { text }: Said): Promise<void> {
    const said = this.transactions.run(async () => {
      await this.events.publish('said', { id: '0', text });
      throw new Error('undone');
    });
    await said.catch(() => {});
  }

  @Sse('failing')
  @Operation({ id: 'hearFailing', summary: 'Hear of a failure', needs: 'pets:read' })
  failing(): Observable<MessageEvent> {
    const failure = Object.assign(new Error('invalid input syntax: "what was sent"'), { code: '22P02' });
    const fail = timer(100).pipe(switchMap(() => throwError(() => failure)));
    return concat(of({ id: '7', data: 'seven' }), fail);
  }

  @Sse('heard')
  @Operation({ id: 'hear', summary: 'Hear what is said', needs: 'pets:read' })
  heard(@Headers('last-event-id') last: string = String(this.said.length)): Observable<MessageEvent> {
    const missed = async () => this.said.filter(({ id }) => Number(id) > Number(last));
    return this.events
      .of<{ id: string; text: string }>('said', missed)
      .pipe(map(({ id, text }) => ({ id, data: text })));
  }

  @Sse('confirmed')
  @Operation({
    id: 'hearConfirmed',
    summary: 'Hear what the database confirms, and for which request',
    needs: 'pets:read',
  })
  confirmed(@Headers('x-request-id') id = ''): Observable<MessageEvent> {
    const confirm = (text: string) =>
      this.transactions.run((one) => one.query<[{ data: string }]>('SELECT $1 AS data', [text]));
    const confirmed = this.events.of<{ text: string }>('said').pipe(
      concatMap(({ text }) => confirm(text)),
      map(([{ data }]) => ({ data: `${data} for ${REQUEST.getStore()}` })),
    );
    return new Observable((subscriber) => REQUEST.run(id, () => confirmed.subscribe(subscriber)));
  }
}

/** The request that a call works for, as a team keeps it. */
const REQUEST = new AsyncLocalStorage<string>();

/** What reads rows where nobody waits. */
@Injectable()
export class RowCounter {
  /** Rows of each job that has ended. */
  static readonly counts: number[] = [];

  constructor(private readonly rows: RowStreams) {}

  @HandlesJob('count-rows', { concurrency: 2, longestPauseSeconds: 600 })
  async count({ upTo }: { upTo: number }, { signal }: Job): Promise<void> {
    if (upTo > 1_000_000) throw new JobError('Too many rows', { isFinal: true });
    let count = 0;
    const sql = 'SELECT generate_series(1, $1::int) AS id';
    for await (const row of await this.rows.stream<{ id: number }>({ sql, parameters: [upTo] })) {
      signal.throwIfAborted();
      count += row.id > 0 ? 1 : 0;
    }
    RowCounter.counts.push(count);
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

/** Does not keep the process of the tests, once they are over. */
const pause = (ms: number) => sleep(ms, undefined, { ref: false });

const LINE = `${'x'.repeat(1_023)}\n`;

async function* linesOf({ lines, failsAfter, pauseMs, firstMs }: Lines): AsyncGenerator<string> {
  if (firstMs > 0) await pause(firstMs);
  for (let i = 0; i < lines; i++) {
    if (failsAfter > 0 && i === failsAfter) throw new Error('The source has failed');
    if (pauseMs > 0 && i > 0) await pause(pauseMs);
    yield LINE;
  }
}
