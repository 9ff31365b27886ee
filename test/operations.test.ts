import {
  Body,
  ConflictException,
  Controller,
  Delete,
  Get,
  Injectable,
  NotFoundException,
  Param,
  ParseIntPipe,
  Patch,
  Post,
  UseInterceptors,
} from '@nestjs/common';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { map, type Observable } from 'rxjs';
import { Idempotent } from '../src/platform/access/idempotency/idempotent.decorator.js';
import { Int64Field, TextField } from '../src/platform/api/fields.js';
import { declareErrors, type ErrorCode } from '../src/platform/api/error-codes.js';
import { Operation, Public, Tag } from '../src/platform/api/operation.js';
import { Sunset } from '../src/platform/api/sunset.js';
import { Transactions } from '../src/platform/data/transactions.js';
import { createAccount, createKey } from './support/client.js';
import { type Extended, startExtended } from './support/extended.js';
import { readMetrics, valueOf } from './support/metrics.js';
import { query, type Service, startService } from './support/service.js';

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

  @Idempotent()
  @Post('undeclared')
  @Operation({ id: 'undeclared', summary: 'Returns what it has not declared' })
  async undeclared(@Body() { text }: NewNoteDto): Promise<{ said: string }> {
    await this.notes.write(text);
    return { said: text };
  }
}

const seen: unknown[] = [];

class Watching implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((value) => (seen.push(value), value)));
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
    const keyed = { 'Idempotency-Key': randomUUID() };
    const [first, again] = [
      await send('POST', '/v1/notes/undeclared', { text: 'x' }, keyed),
      await send('POST', '/v1/notes/undeclared', { text: 'x' }, keyed),
    ];
    expect([first.status, first.text, again.text]).toEqual([200, '{"said":"x"}', '{"said":"x"}']);
    expect(await rows('x')).toBe(1);
  });
});

describe('A controller method', () => {
  test('gives interceptors and other callers the plain value, and its client what is declared', async () => {
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
  ])('is answered by its own status in the Error shape: %s', async (path, status, code, message) => {
    const answer = await send('GET', `/v1/usual/${path}`);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([status, { code, message, status }]);
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

  test('that is declared twice ends the start', () => {
    const again = { pet_not_found: { status: 410, meaning: 'Gone.' } };
    expect(() => declareErrors(again)).toThrow('The error pet_not_found is declared twice.');
  });
});
