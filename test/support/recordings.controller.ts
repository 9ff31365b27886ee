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
  RowStreams,
  TextField,
  Transactions,
} from '../../src/platform/index.js';
import { Does } from './tried.js';

/** An optional number of a query. */
const Count = (description: string, max = 100_000_000) =>
  IntegerParam({ min: 0, max, description, example: 3, optional: true });

class Lines {
  @Count('How many lines there are.') lines = 3;
  @Count('How many come before a failure.') failsAfter = 0;
  @Count('Milliseconds between two lines.', 60_000) pauseMs = 0;
  @Count('Milliseconds until the first.', 60_000) firstMs = 0;
}

class Rows {
  @Count('How many rows there are.') rows = 3;
  @Count('How long each is.', 10_000_000) bytes = 3;
  @Count('Milliseconds until the first.', 60_000) firstMs = 0;
}

class Said {
  @TextField({ max: 10_000, description: 'What is said.', example: 'Hello' }) text!: string;
}

/** A file larger than a stream's read-ahead. */
export const LATE_FILE = process.execPath;

/** A team's answers other than small JSON bodies, written with Nest's own means. */
@ApiTags('recordings')
@Controller('recordings')
export class RecordingsController {
  static opened = 0;
  static wakesAfter = 0;
  private readonly said: { id: string; text: string }[] = [];

  constructor(
    private readonly events: Events,
    private readonly transactions: Transactions,
    private readonly rows: RowStreams,
    private readonly jobs: Jobs,
  ) {}

  @Get('report')
  @Does('pets:read', { seconds: 10 })
  getReport(): Promise<unknown> {
    return this.transactions.manager.query('SELECT pg_sleep(4), 1 AS done');
  }

  @Get('nap')
  @Does('pets:read', { seconds: 3.5 })
  nap(): Promise<unknown> {
    return this.transactions.manager.query(`SELECT pg_sleep(${RecordingsController.wakesAfter}), 1 AS done`);
  }

  @Get('patient')
  @Does('pets:read', { seconds: 3.5 })
  async patient(): Promise<void> {
    await pause(10_000);
  }

  @Get('lines')
  @Does('pets:read')
  lines(@Query() query: Lines): StreamableFile {
    return new StreamableFile(Readable.from(linesOf(query)), { type: 'text/csv' });
  }

  @Get('piped')
  @Does('pets:read')
  piped(@Query() query: Lines, @Res() response: Response): void {
    Readable.from(linesOf(query)).pipe(response.type('text/csv'));
  }

  @Get('generated')
  @Does('pets:read')
  generated(@Query() query: Lines): AsyncIterable<string> {
    return linesOf(query);
  }

  @Get('rows')
  @Does('pets:read')
  async exported(@Query() query: Rows): Promise<StreamableFile> {
    const { rows: count, bytes, firstMs } = query;
    return this.csvOf({
      sql: `SELECT generate_series(1, $1::bigint) AS id, repeat('x', $2) AS text FROM pg_sleep($3::float / 1000)`,
      parameters: [count, bytes, firstMs],
    });
  }

  @Get('built-rows')
  @Does('pets:read')
  async built(@Query() { rows: most }: Rows): Promise<StreamableFile> {
    const { manager } = this.transactions;
    const found = manager.createQueryBuilder().select('id').addSelect('name', 'text').from('categories', 'c');
    return this.csvOf(found.where('id <= :most', { most }).orderBy('id'));
  }

  @Post('counted')
  @Does('pets:write', { status: 204 })
  async countLater(): Promise<void> {
    await this.transactions.run(() => this.jobs.add('count-rows', { upTo: 100_000 }));
  }

  @Get('missing')
  @Does('pets:read')
  missing(): StreamableFile {
    return new StreamableFile(createReadStream('/nowhere/at/all'));
  }

  @Get('failing-rows')
  @Does('pets:read')
  async failingRows(): Promise<StreamableFile> {
    return this.csvOf({
      sql: `SELECT CASE WHEN i < 50000 THEN i ELSE ('what was sent ' || i)::int END AS id, 'x' AS text
            FROM generate_series(1, 100000) AS i`,
    });
  }

  private async csvOf(found: Parameters<RowStreams['stream']>[0]): Promise<StreamableFile> {
    const rows = await this.rows.stream<{ id: string; text: string }>(found);
    return new StreamableFile(Readable.from(csvOf(rows)), { type: 'text/csv' });
  }

  @Get('late-file')
  @Does('pets:read')
  async lateFile(): Promise<StreamableFile> {
    await pause(3_000);
    RecordingsController.opened++;
    return new StreamableFile(createReadStream(LATE_FILE));
  }

  @Get('late-piped')
  @Does('pets:read')
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
  @Does('pets:read')
  labelled(): never {
    throw new BadRequestException('There is no such file.');
  }

  @Post('said')
  @Does('pets:write', { status: 204 })
  async say(@Body() { text }: Said): Promise<void> {
    const one = { id: String(this.said.length + 1), text };
    await this.events.publish('said', one);
    this.said.push(one);
  }

  @Post('unsaid')
  @Does('pets:write', { status: 204 })
  async unsay(@Body() { text }: Said): Promise<void> {
    const said = this.transactions.run(async () => {
      await this.events.publish('said', { id: '0', text });
      throw new Error('undone');
    });
    await said.catch(() => {});
  }

  @Sse('failing')
  @Does('pets:read')
  failing(): Observable<MessageEvent> {
    const failure = Object.assign(new Error('invalid input syntax: "what was sent"'), { code: '22P02' });
    const fail = timer(100).pipe(switchMap(() => throwError(() => failure)));
    return concat(of({ id: '7', data: 'seven' }), fail);
  }

  @Sse('heard')
  @Does('pets:read')
  heard(@Headers('last-event-id') last: string = String(this.said.length)): Observable<MessageEvent> {
    const missed = async () => this.said.filter(({ id }) => Number(id) > Number(last));
    return this.events
      .of<{ id: string; text: string }>('said', missed)
      .pipe(map(({ id, text }) => ({ id, data: text })));
  }

  @Sse('confirmed')
  @Does('pets:read')
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

/** The request that a call belongs to, as a team may keep track of it. */
const REQUEST = new AsyncLocalStorage<string>();

/** Reads rows outside of any request. */
@Injectable()
export class RowCounter {
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

/** A pause that does not keep the test process alive. */
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
