import {
  BadGatewayException,
  BadRequestException,
  Body,
  Catch,
  ConflictException,
  Controller,
  Delete,
  Get,
  HttpException,
  Injectable,
  InternalServerErrorException,
  NotFoundException,
  Param,
  ParseIntPipe,
  Patch,
  Post,
  Put,
  Res,
  Sse,
  StreamableFile,
  type Type,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common';
import type {
  ArgumentsHost,
  CallHandler,
  ExceptionFilter,
  ExecutionContext,
  MessageEvent,
  NestInterceptor,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { randomUUID } from 'node:crypto';
import type { Response } from 'express';
import { from, map, type Observable } from 'rxjs';
import { Idempotent } from '../../src/platform/safeguards/idempotent.decorator.js';
import { Int64Field, TextField } from '../../src/platform/api/fields.js';
import type { ErrorCode } from '../../src/platform/api/api-error.js';
import { Feature, installFeatures } from '../../src/platform/features/index.js';
import { PetsModule } from '../../src/pets/pets.module.js';
import { Operation, Public, Sunset, Tag } from '../../src/platform/api/operation.js';
import { violation } from '../../src/platform/data/fast-repository.js';
import { Transactions } from '../../src/platform/data/transactions.js';
import { createAccount, createKey } from '../../src/testing/client.js';
import { type Extended, startExtended } from '../support/extended.js';
import { readMetrics, valueOf } from '../support/metrics.js';
import { query, type Service, startService } from '../../src/testing/service.js';

class NewNoteDto {
  @TextField({ description: 'Text.', max: 255 })
  text!: string;
}

class NoteDto {
  @Int64Field({ description: 'Identifier.' })
  id!: string;

  @TextField({ description: 'Text.', max: 255 })
  text!: string;
}

/** A row as a service has it, with what no client may see. */
interface Note {
  id: string;
  text: string;
  secret: string;
}

@Injectable()
class Notes {
  constructor(private readonly transactions: Transactions) {}

  /** Writes a row, whatever the operation. */
  async write(text: string): Promise<Note> {
    const sql = 'INSERT INTO notes (text) VALUES ($1) RETURNING id, text';
    const [row] = await this.transactions.manager.query<{ id: string; text: string }[]>(sql, [text]);
    return { ...row!, secret: 'secret' };
  }
}

const seen: unknown[] = [];

class Watching implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((value) => (seen.push(value), value)));
  }
}

/** Counts the answers that it has changed. */
class Numbering implements NestInterceptor {
  static count = 0;

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      map((value: Note) => {
        context.switchToHttp().getResponse<Response>().setHeader('X-Number', ++Numbering.count);
        return { ...value, text: `${value.text} ${Numbering.count}` };
      }),
    );
  }
}

/** Fails after the first write. */
class FailingOnce implements NestInterceptor {
  static hasFailed = false;

  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      map((value: Note) => {
        if (FailingOnce.hasFailed) return value;
        FailingOnce.hasFailed = true;
        throw new ConflictException();
      }),
    );
  }
}

/** Answers failures as Nest's documentation has it. */
@Catch()
@Injectable()
class Telling implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost) {}

  catch(_exception: unknown, host: ArgumentsHost): void {
    const body = { id: '1', text: 'a failure', secret: '' };
    this.host.httpAdapter.reply(host.switchToHttp().getResponse(), body, 409);
  }
}

/** Keyed operations with the decorator above and below the others, for each status and method. */
@Tag('pets', 'Notes.')
@Controller('notes')
class NotesController {
  private readonly notes: Notes;

  constructor(transactions: Transactions) {
    this.notes = new Notes(transactions);
  }

  @Idempotent()
  @Post('first-200')
  @Operation({ id: 'first200', summary: 'Above', returns: NoteDto })
  first200(@Body() { text }: NewNoteDto): Promise<Note> {
    return this.notes.write(text);
  }

  @Post('last-200')
  @Operation({ id: 'last200', summary: 'Below', returns: NoteDto })
  @Idempotent()
  last200(@Body() { text }: NewNoteDto): Promise<Note> {
    return this.notes.write(text);
  }

  @Idempotent()
  @Operation({ id: 'first201', summary: 'Above', returns: [NoteDto], status: 201 })
  @Post('first-201')
  async first201(@Body() { text }: NewNoteDto): Promise<Note[]> {
    return [await this.notes.write(text)];
  }

  @Operation({ id: 'last201', summary: 'Below', returns: [NoteDto], status: 201 })
  @Post('last-201')
  @Idempotent()
  async last201(@Body() { text }: NewNoteDto): Promise<Note[]> {
    return [await this.notes.write(text)];
  }

  @Idempotent()
  @Patch('first-202/:id')
  @Operation({ id: 'first202', summary: 'Above', returns: NoteDto, status: 202 })
  first202(@Param('id') _id: string, @Body() { text }: NewNoteDto): Promise<Note> {
    return this.notes.write(text);
  }

  @Operation({ id: 'last202', summary: 'Below', returns: NoteDto, status: 202 })
  @Idempotent()
  @Patch('last-202/:id')
  last202(@Param('id') _id: string, @Body() { text }: NewNoteDto): Promise<Note> {
    return this.notes.write(text);
  }

  @Idempotent()
  @Delete('first-204/:id')
  @Operation({ id: 'first204', summary: 'Above', status: 204 })
  async first204(@Param('id') id: string): Promise<void> {
    await this.notes.write(id);
  }

  @Delete('last-204/:id')
  @Operation({ id: 'last204', summary: 'Below', status: 204 })
  @Idempotent()
  async last204(@Param('id') id: string): Promise<void> {
    await this.notes.write(id);
  }

  @Post('bare-204')
  @Operation({ id: 'bare204', summary: 'Without a body', status: 204 })
  @Idempotent()
  async bare204(@Body() { text }: NewNoteDto): Promise<void> {
    await this.notes.write(text);
  }

  /** Creates or replaces: the status says which. */
  @Put('put/:id')
  @UseInterceptors(Watching)
  @Operation({ id: 'putNote', summary: 'Creates or replaces', returns: NoteDto })
  @Idempotent()
  async put(
    @Param('id') id: string,
    @Body() { text }: NewNoteDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Note> {
    if (id.startsWith('new')) {
      response.status(id === 'new-202' ? 202 : 201);
      response.set({ Location: `/v1/notes/${id}`, Link: '</v1/notes>; rel="collection"', ETag: '"one"' });
      response.append('X-Note', ['a', 'b']);
    }
    return this.notes.write(text);
  }

  @Post('numbered')
  @UseInterceptors(Numbering)
  @Operation({ id: 'numbered', summary: 'What an interceptor changes', returns: NoteDto, status: 201 })
  @Idempotent()
  numbered(@Body() { text }: NewNoteDto): Promise<Note> {
    return this.notes.write(text);
  }

  @Post('told')
  @UseInterceptors(FailingOnce)
  @UseFilters(Telling)
  @Operation({ id: 'told', summary: 'A failure after the write', returns: NoteDto, status: 201 })
  @Idempotent()
  told(@Body() { text }: NewNoteDto): Promise<Note> {
    return this.notes.write(text);
  }

  @Post('observed')
  @Operation({ id: 'observed', summary: 'An Observable', returns: NoteDto })
  @Idempotent()
  observed(@Body() { text }: NewNoteDto): Observable<Note> {
    return from(this.notes.write(text));
  }

  @Post('file')
  @Operation({ id: 'file', summary: 'A file' })
  @Idempotent()
  async file(@Body() { text }: NewNoteDto): Promise<StreamableFile> {
    await this.notes.write(text);
    return new StreamableFile(Buffer.from(text));
  }

  @Idempotent()
  @Post('undeclared')
  @Operation({ id: 'undeclared', summary: 'Returns what it has not declared' })
  async undeclared(@Body() { text }: NewNoteDto): Promise<{ said: string }> {
    await this.notes.write(text);
    return { said: text };
  }
}

@Tag('pets', 'Things.')
@Controller({ path: 'things', version: '1' })
class ThingsController {
  @Get()
  @UseInterceptors(Watching)
  @Operation({ id: 'getThing', summary: 'A thing', returns: NoteDto })
  @Sunset({ deprecated: '2026-11-21', sunset: '2099-12-05', successor: '/v2/things' })
  get(): Note {
    return { id: '9007199254740993', text: 'plain', secret: 'secret' };
  }
}

@Public()
@Controller({ path: 'things', version: '2' })
class ThingsV2Controller {
  @Get()
  @Operation({ id: 'getThingV2', summary: 'A thing, as version 2 has it', returns: NoteDto })
  get(): Note {
    return { id: '2', text: 'second', secret: 'secret' };
  }
}

/** Exceptions, pipes and empty answers as Nest's documentation has them. */
@Public()
@Controller('usual')
class UsualController {
  @Get('conflict')
  conflict(): never {
    throw new ConflictException('There is one already.');
  }

  @Get('none/:id')
  none(): never {
    throw new NotFoundException('There is no such thing.');
  }

  @Get('thrown/:status')
  thrown(@Param('status') status: string): never {
    throw new HttpException('The other one is away.', Number(status));
  }

  @Get('gateway')
  gateway(): never {
    throw new BadGatewayException('The other one is away.', { cause: new Error('secret') });
  }

  @Get('secret')
  secret(): never {
    throw new InternalServerErrorException('secret');
  }

  @Get('several')
  several(): never {
    throw new BadRequestException(['name is too long', 'age is missing']);
  }

  @Get('number/:id')
  number(@Param('id', ParseIntPipe) id: number): { id: number } {
    return { id };
  }

  @Get('nothing')
  @Operation({ id: 'getNothing', summary: 'Nothing', returns: NoteDto })
  nothing(): null {
    return null;
  }

  @Post('open')
  @Idempotent()
  @Operation({ id: 'postOpen', summary: 'Open to anyone', returns: NoteDto })
  open(@Body() { text }: NewNoteDto): Note {
    return { id: '1', text, secret: 'secret' };
  }
}

let service: Service;
let extended: Extended;
let key: string;
let accountId: number;

beforeAll(async () => {
  service = await startService();
  await query(service.databaseUrl, 'CREATE TABLE notes (id bigserial PRIMARY KEY, text text NOT NULL)');
  extended = await startExtended(
    service.databaseUrl,
    NotesController,
    ThingsController,
    ThingsV2Controller,
    UsualController,
  );
  const account = await createAccount(service);
  [key, accountId] = [await createKey(service, account), account.id];
});
afterAll(async () => {
  await extended.stop();
  await service.stop();
});

async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(extended.url + path, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

async function rows(text: string): Promise<number> {
  return (await query(service.databaseUrl, 'SELECT FROM notes WHERE text = $1', [text])).length;
}

const NOTE = (text: string) => new RegExp(`^\\{"id":\\d+,"text":"${text}"\\}$`);
const NOTES = (text: string) => new RegExp(`^\\[\\{"id":\\d+,"text":"${text}"\\}\\]$`);
const NOTHING = () => /^$/;

describe('An idempotent operation', () => {
  test.each<[path: string, method: string, status: number, body: (text: string) => RegExp]>([
    ['first-200', 'POST', 200, NOTE],
    ['last-200', 'POST', 200, NOTE],
    ['first-201', 'POST', 201, NOTES],
    ['last-201', 'POST', 201, NOTES],
    ['first-202/', 'PATCH', 202, NOTE],
    ['last-202/', 'PATCH', 202, NOTE],
    ['first-204/', 'DELETE', 204, NOTHING],
    ['last-204/', 'DELETE', 204, NOTHING],
    ['bare-204', 'POST', 204, NOTHING],
  ])('is carried out once, wherever the decorator stands: %s by %s', async (path, method, status, body) => {
    const text = randomUUID();
    const address = `/v1/notes/${path}${path.endsWith('/') ? text : ''}`;
    const sent = method === 'DELETE' ? undefined : { text };
    const keyed = { 'Idempotency-Key': text };
    const all = [
      await send(method, address, sent, keyed),
      await send(method, address, sent, keyed),
      await send(method, address, sent),
    ];
    for (const answer of all)
      expect([answer.status, answer.text]).toEqual([status, expect.stringMatching(body(text))]);
    const [first, again, unkeyed] = all;
    expect(again!.text).toBe(first!.text);
    expect(all.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual([null, 'true', null]);
    expect(again!.headers.get('content-type')).toBe(unkeyed!.headers.get('content-type'));
    expect(first!.headers.get('content-type')).toBe(unkeyed!.headers.get('content-type'));
    expect(await rows(text)).toBe(2);
  });

  test('repeats a JSON answer that it has not declared, too', async () => {
    const text = randomUUID();
    const keyed = { 'Idempotency-Key': text };
    const [first, again] = [
      await send('POST', '/v1/notes/undeclared', { text }, keyed),
      await send('POST', '/v1/notes/undeclared', { text }, keyed),
    ];
    expect([first.status, first.text, again.text]).toEqual([200, `{"said":"${text}"}`, first.text]);
    expect(await rows(text)).toBe(1);
  });
});

describe('The answer of an idempotent operation', () => {
  test.each([
    ['new-201', 201],
    ['new-202', 202],
    ['old', 200],
  ])('keeps the status and the headers that the method gives it: %s', async (id, status) => {
    const keyed = { 'Idempotency-Key': randomUUID() };
    const put = () => send('PUT', `/v1/notes/put/${id}`, { text: 'put' }, keyed);
    const [first, again] = [await put(), await put()];
    expect([first.status, again.status, again.text]).toEqual([status, status, first.text]);
    for (const name of ['location', 'link', 'etag', 'x-note', 'content-type', 'content-length'])
      expect([name, again.headers.get(name)]).toEqual([name, first.headers.get(name)]);
    expect(again.headers.get('x-note')).toBe(id === 'old' ? null : 'a, b');
  });

  test('is seen by interceptors as without the header, and when it is given again as JSON', async () => {
    const put = (headers?: Record<string, string>) =>
      send('PUT', '/v1/notes/put/old', { text: 'x' }, headers);
    seen.length = 0;
    const keyed = { 'Idempotency-Key': randomUUID() };
    for (const headers of [undefined, keyed, keyed]) expect((await put(headers)).status).toBe(200);
    const note = { id: expect.any(String), text: 'x', secret: 'secret' };
    expect(seen).toEqual([note, note, { id: expect.any(Number), text: 'x' }]);
  });

  test('is given again as an interceptor has made it', async () => {
    const keyed = { 'Idempotency-Key': randomUUID() };
    const post = () => send('POST', '/v1/notes/numbered', { text: 'number' }, keyed);
    const [first, again, third] = [await post(), await post(), await post()];
    expect(JSON.parse(first.text).text).toBe('number 1');
    for (const one of [again, third]) expect([one.status, one.text]).toEqual([201, first.text]);
    expect([again, third].map(({ headers }) => headers.get('x-number'))).toEqual(['1', '1']);
  });

  test('is not what an exception filter tells of a failure after the write', async () => {
    const text = randomUUID();
    const post = () => send('POST', '/v1/notes/told', { text }, { 'Idempotency-Key': text });
    const [told, again] = [await post(), await post()];
    expect([told.status, JSON.parse(told.text).text]).toEqual([409, 'a failure']);
    expect([again.status, again.text]).toEqual([201, expect.stringMatching(NOTE(text))]);
    expect([again.headers.get('idempotency-replayed'), await rows(text)]).toEqual(['true', 1]);
  });

  test('cannot be sent by the method, before the write is committed', () => {
    const declare = () => {
      class SendingController {
        @Post()
        @Idempotent()
        send(@Res() response: Response): void {
          response.json({});
        }
      }
      return SendingController;
    };
    expect(declare).toThrow('SendingController.send is idempotent, and must return its answer');
  });

  test('cannot be anything but JSON: the start names operations that say so', async () => {
    @Tag('pets', 'Copies.')
    @Controller('copies')
    class CopiesController {
      @Post('csv')
      @Idempotent()
      @Operation({ id: 'copyCsv', summary: 'A copy', gives: { types: ['text/csv'], example: 'id\n1\n' } })
      async csv(): Promise<string> {
        return '';
      }

      @Idempotent()
      @Post('file')
      @Operation({ id: 'copyFile', summary: 'A copy' })
      file(): StreamableFile {
        return new StreamableFile(Buffer.from(''));
      }

      @Sse('heard')
      @Idempotent()
      @Operation({ id: 'hearCopies', summary: 'Copies' })
      heard(): Observable<MessageEvent> {
        return from([]);
      }

      @Post('plain')
      @Idempotent()
      @Operation({ id: 'copy', summary: 'A copy', status: 204 })
      plain(): void {}

      @Get('csv')
      @Operation({ id: 'readCsv', summary: 'A copy', gives: { types: ['text/csv'], example: 'id\n1\n' } })
      read(): string {
        return '';
      }
    }
    await expect(startExtended(service.databaseUrl, CopiesController)).rejects.toThrow(
      'Only JSON can be given again for an Idempotency-Key, and @Idempotent() stands at copyCsv (text/csv), copyFile (StreamableFile), hearCopies (text/event-stream).',
    );
  });

  test('may be an Observable, and is refused with its write if it is no JSON', async () => {
    const keyed = { 'Idempotency-Key': randomUUID() };
    const post = () => send('POST', '/v1/notes/observed', { text: 'observed' }, keyed);
    const [first, again] = [await post(), await post()];
    expect([first.status, first.text]).toEqual([200, expect.stringMatching(NOTE('observed'))]);
    expect(again.text).toBe(first.text);
    expect((await send('POST', '/v1/notes/file', { text: 'file' })).text).toBe('file');
    const refused = await send('POST', '/v1/notes/file', { text: 'no file' }, { 'Idempotency-Key': 'file' });
    expect([refused.status, await rows('no file')]).toEqual([500, 0]);
  });

  test('goes on working if release 1.0.0 has stored it, also in place of another', async () => {
    const keyed = { 'Idempotency-Key': randomUUID() };
    const put = (id: string) => send('PUT', `/v1/notes/put/${id}`, { text: 'old' }, keyed);
    const stored = (changes: string) =>
      query(service.databaseUrl, `UPDATE idempotency_keys SET ${changes} WHERE key = $1`, [
        keyed['Idempotency-Key'],
      ]);
    expect((await put('new-201')).status).toBe(201);
    // Its own answer in place of one that had expired: what it does not know stays.
    await stored(`body = '{"id":1,"text":"1.0.0"}', location = '/v1/notes/1', created_at = now()`);
    for (const changes of ['head = head', 'head = NULL']) {
      await stored(changes);
      const again = await put('new-201');
      expect([again.status, again.text]).toEqual([200, '{"id":1,"text":"1.0.0"}']);
      expect([again.headers.get('location'), again.headers.get('link')]).toEqual(['/v1/notes/1', null]);
    }
  });
});

describe('A controller method', () => {
  test('gives interceptors and other callers the plain value, and its client what is declared', async () => {
    seen.length = 0;
    const { text } = await send('GET', '/v1/things');
    expect(text).toBe('{"id":9007199254740993,"text":"plain"}');
    const plain = { id: '9007199254740993', text: 'plain', secret: 'secret' };
    expect(seen).toEqual([plain]);
    expect(new ThingsController().get()).toEqual(plain);
  });

  test('that is idempotent writes for other callers too', async () => {
    const transactions = { manager: { query: async () => [{ id: '1', text: 'by hand' }] } };
    const notes = new NotesController(transactions as never);
    expect(await notes.first200({ text: 'by hand' })).toEqual({ id: '1', text: 'by hand', secret: 'secret' });
    expect(await notes.last200({ text: 'by hand' })).toEqual({ id: '1', text: 'by hand', secret: 'secret' });
  });
});

describe('Two versions of an operation', () => {
  test('have their own names and addresses in the log and the metrics', async () => {
    const [name, labels] = ['http_server_request_duration_seconds_count', { status: '200' }];
    const counts = async () => {
      const metrics = await readMetrics(extended);
      return ['getThing', 'getThingV2'].map((operation) => valueOf(metrics, name, { ...labels, operation }));
    };
    const [first, second] = await counts();
    await send('GET', '/v1/things', undefined, { 'X-Request-Id': 'first-version' });
    await send('GET', '/v2/things', undefined, { 'X-Request-Id': 'second-version' });
    expect(await counts()).toEqual([first! + 1, second! + 1]);
    const told = (id: string) => extended.lines.find(({ requestId }) => requestId === id);
    expect(told('first-version')).toMatchObject({ operationId: 'getThing', route: '/v1/things' });
    expect(told('second-version')).toMatchObject({ operationId: 'getThingV2', route: '/v2/things' });
  });

  test('are counted as deprecated one by one', async () => {
    const calls = async (operation: string) => {
      const labels = { operation, account: String(accountId) };
      return valueOf(await readMetrics(extended), 'petstore_deprecated_calls_total', labels);
    };
    const before = await calls('getThing');
    for (let i = 0; i < 3; i++) await send('GET', '/v1/things');
    await send('GET', '/v2/things');
    expect([await calls('getThing'), await calls('getThingV2')]).toEqual([before + 3, 0]);
  });

  test('are opened one by one', async () => {
    const closed = await fetch(`${extended.url}/v1/things`);
    const open = await fetch(`${extended.url}/v2/things`);
    expect([closed.status, open.status]).toEqual([401, 200]);
  });
});

describe("What a team writes as Nest's documentation has it", () => {
  test.each([
    ['conflict', 409, 'conflict', 'There is one already.'],
    ['none/1', 404, 'not_found', 'There is no such thing.'],
    ['number/x', 400, 'bad_request', 'Validation failed (numeric string is expected)'],
    ['several', 400, 'bad_request', 'name is too long; age is missing'],
    ['thrown/402', 402, 'payment_required', 'The other one is away.'],
    ['thrown/406', 406, 'not_acceptable', 'The other one is away.'],
    ['gateway', 502, 'service_unavailable', 'The other one is away.'],
    ['thrown/503', 503, 'service_unavailable', 'The other one is away.'],
    ['thrown/504', 504, 'service_unavailable', 'The other one is away.'],
    ['thrown/501', 501, 'internal_error', 'The other one is away.'],
    ['thrown/507', 507, 'internal_error', 'The other one is away.'],
    ['secret', 500, 'internal_error', 'Something went wrong on our side.'],
    ['thrown/99', 500, 'internal_error', 'Something went wrong on our side.'],
    ['thrown/1000', 500, 'internal_error', 'Something went wrong on our side.'],
    ['thrown/x', 500, 'internal_error', 'Something went wrong on our side.'],
  ])('is answered by its own status in the Error shape: %s', async (path, status, code, message) => {
    const answer = await send('GET', `/v1/usual/${path}`);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([status, { code, message, status }]);
    expect(answer.headers.get('retry-after')).toBe(status === 503 ? '1' : null);
  });

  test('may return nothing', async () => {
    expect(await send('GET', '/v1/usual/nothing')).toMatchObject({ status: 200, text: '' });
    expect(await send('GET', '/v1/usual/number/7')).toMatchObject({ status: 200, text: '{"id":7}' });
  });

  test('and opens to anyone takes no notice of a key for retries', async () => {
    const answer = await send(
      'POST',
      '/v1/usual/open',
      { text: 'a' },
      { 'Idempotency-Key': 'one', Authorization: '' },
    );
    expect([answer.status, answer.text]).toEqual([200, '{"id":1,"text":"a"}']);
  });
});

describe('A route', () => {
  @Tag('pets', 'Bookings.')
  @Controller('bookings')
  class BookingsController {
    @Public()
    @Get('export')
    @Operation({ id: 'exportBookings', summary: 'Export bookings' })
    export(): { route: string } {
      return { route: 'literal' };
    }

    @Public()
    @Get(':bookingId')
    @Operation({ id: 'getBooking', summary: 'Fetch a booking' })
    get(): { route: string } {
      return { route: 'parameter' };
    }

    @Public()
    @Post(':bookingId')
    @Operation({ id: 'addToBooking', summary: 'Add to a booking' })
    add(): void {}
  }

  @Tag('pets', 'Bookings.')
  @Controller('bookings')
  class OtherBookingsController {
    @Get('export')
    @Operation({ id: 'exportOtherBookings', summary: 'Export bookings' })
    export(): void {}
  }

  @Tag('pets', 'Bookings.')
  @Controller('bookings')
  class LateController {
    @Get(':bookingId')
    @Operation({ id: 'getLateBooking', summary: 'Fetch a booking' })
    get(): void {}

    @Get('export')
    @Operation({ id: 'exportLateBookings', summary: 'Export bookings' })
    export(): void {}
  }

  @Tag('pets', 'Bookings.')
  @Controller('bookings')
  class RenamingController {
    @Get(':name')
    @Operation({ id: 'getNamedBooking', summary: 'Fetch a booking' })
    get(): void {}
  }

  const starting = (...controllers: Type[]) =>
    startExtended(service.databaseUrl, ...controllers).then((one) => one.stop());

  test.each([
    ['a parameter has before its literal path', [LateController], '/bookings/export', '/bookings/:bookingId'],
    ['another name has', [BookingsController, RenamingController], '/bookings/:name', '/bookings/:bookingId'],
  ])('whose requests %s ends the start, which names both', async (_what, controllers, own, other) => {
    await expect(starting(...controllers)).rejects.toThrow(
      `GET /v1${own} is never called: GET /v1${other} takes its requests first.`,
    );
  });

  test('with a literal path is served before one with a parameter, whatever the method', async () => {
    const extended = await startExtended(service.databaseUrl, BookingsController);
    try {
      const routes = ['export', '7'].map(async (id) =>
        (await fetch(`${extended.url}/v1/bookings/${id}`)).json(),
      );
      expect(await Promise.all(routes)).toEqual([{ route: 'literal' }, { route: 'parameter' }]);
      const refused = await fetch(`${extended.url}/v1/bookings/export`, { method: 'POST' });
      expect([refused.status, refused.headers.get('Allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    } finally {
      await extended.stop();
    }
  });

  test('that another one has already ends the start, which names both', async () => {
    await expect(starting(BookingsController, OtherBookingsController)).rejects.toThrow(
      /GET \/v1\/bookings\/export is registered by both BookingsController.export and OtherBookingsController.export/,
    );
  });
});

test('A violation of a constraint that no table has ends the start, which names it', async () => {
  violation('pets_nam_key', 'pet_not_found');
  await expect(startExtended(service.databaseUrl)).rejects.toThrow(
    "violation('pets_nam_key', 'pet_not_found'): no table has a constraint or a unique index of that name.",
  );
});

describe('An error code', () => {
  const named = { ghost_not_found: 404, pet_not_found: 404 } as Partial<Record<ErrorCode, number>>;

  @Tag('pets', 'Ghosts.')
  @Controller('ghosts')
  class GhostsController {
    @Get()
    @Operation({ id: 'getGhost', summary: 'Fetch a ghost', errors: named })
    get(): void {}
  }

  test('that an operation names and nobody has declared ends the start', async () => {
    await expect(startExtended(service.databaseUrl, GhostsController)).rejects.toThrow(
      'No feature declares errors of getGhost (ghost_not_found): ',
    );
  });

  test('that two features declare ends the start', () => {
    @Feature({ name: 'ghosts', errors: { pet_not_found: { status: 410, meaning: 'Gone.' } } })
    class GhostsModule {}
    expect(() => installFeatures([PetsModule, GhostsModule])).toThrow(
      'The error pet_not_found is there twice: in pets and in ghosts.',
    );
  });
});
