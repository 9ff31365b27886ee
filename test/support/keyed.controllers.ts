import {
  applyDecorators,
  Body,
  type CallHandler,
  ClassSerializerInterceptor,
  ConflictException,
  Delete,
  type ExecutionContext,
  Get,
  Injectable,
  type NestInterceptor,
  Param,
  Post,
  Put,
  Query,
  Res,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import { Exclude, Expose } from 'class-transformer';
import type { Response } from 'express';
import { from, map, type Observable, of } from 'rxjs';
import { Column, Entity } from 'typeorm';
import { DataModule } from '../../src/platform/data/index.js';
import {
  FastRepository,
  Idempotent,
  IdColumn,
  InjectFastRepository,
  Insert,
  insert,
  Int64Field,
  Page,
  PageQuery,
  Reply,
  ReplyHeaders,
  TextField,
  TimestampField,
  Transactions,
} from '../../src/platform/index.js';
import { Does, Tried } from './tried.js';

/** A row with a JSON column that keeps its text, and with fields that no client may see. */
@Entity('papers')
export class Paper {
  @IdColumn('papers_pkey') id!: string;
  @Column('text') text!: string;
  @Column('json', { nullable: true }) loose!: unknown;

  @Exclude()
  @Column('text', { default: 'secret' })
  secret!: string;
}

export const CREATE_PAPERS = `CREATE TABLE papers (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  text text NOT NULL, loose json, secret text NOT NULL DEFAULT 'secret')`;
export const PAPERS = DataModule.forFeature([Paper]);

class NewPaperDto {
  @TextField({ description: 'Text.', max: 255 }) text!: string;
}

class PaperDto {
  @Int64Field({ description: 'Identifier.' }) id!: string;
  @TextField({ description: 'Text.', max: 255 }) text!: string;
}

class DatedDto extends PaperDto {
  @TimestampField({ description: 'A time.' }) at!: Date;
}

class DueDto extends NewPaperDto {
  @TimestampField({ description: 'A time.', future: true }) at!: Date;
}

/** A returned value that ClassSerializerInterceptor serializes. */
class Shown {
  readonly text: string;

  @Exclude() readonly secret = 'secret';

  constructor(text: string) {
    this.text = text;
  }

  @Expose()
  get length(): number {
    return this.text.length;
  }
}

/** An interceptor that maps each value to another one. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- each knows the value of its method
function changing<T>(change: (value: T, context: ExecutionContext) => unknown): Type<NestInterceptor> {
  @Injectable()
  class Changing implements NestInterceptor {
    intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
      return next.handle().pipe(map((value: T) => change(value, context)));
    }
  }
  return Changing;
}

/** The values that interceptors got, by the text of the request. */
export const got = new Map<string, unknown[]>();

export const Mapping = changing<Paper>((value, context) => {
  const { text } = context.switchToHttp().getRequest<{ body: NewPaperDto }>().body;
  got.set(text, [...(got.get(text) ?? []), value]);
  return Object.assign({}, value, { text: `${value.text} mapped` });
});

let count = 0;
/** Wraps each value in another answer. */
const Stamping = changing((data) => ({ data, number: ++count }));
const Numbering = changing((value, context) => {
  context.switchToHttp().getResponse<Response>().setHeader('X-Number', ++count);
  return value;
});
/** Changes the value in place, each time differently. */
const Counting = changing<Paper>((paper) => Object.assign(paper, { text: `${paper.text} ${++count}` }));
/** Needs `at` to be a `Date`, as in the class of the value. */
const Reading = changing<DatedDto>((value) =>
  Object.assign({}, value, { text: `${value.text} in ${value.at.getUTCFullYear()}` }),
);
const failed = new Set<string>();
const FailingOnce = changing<Paper>((value) => {
  if (failed.has(value.text)) return value;
  failed.add(value.text);
  throw new ConflictException();
});

const MADE = { returns: PaperDto, status: 201 };
/** A POST that adds a row; its answers have a `Location`, unless they have no id. */
const Adds = (path: string, more: object = { ...MADE, located: true }) =>
  applyDecorators(Post(path), Does('pets:write', { status: 201, ...more }));

@Tried('papers')
export class PapersController {
  /** How often a method was called, by the text of the request. */
  static readonly calls = new Map<string, number>();

  constructor(
    @InjectFastRepository(Paper) private readonly papers: FastRepository<Paper>,
    private readonly transactions: Transactions,
  ) {}

  @Adds('mapped-inside')
  @UseInterceptors(Mapping)
  @Idempotent()
  mappedInside(@Body() { text }: NewPaperDto): Insert<Paper> {
    return insert(this.papers, { text });
  }

  @Adds('mapped-outside')
  @Idempotent()
  @UseInterceptors(Mapping)
  async mappedOutside(@Body() { text }: NewPaperDto): Promise<Insert<Paper>> {
    return insert(this.papers, { text });
  }

  @Adds('mapped-insert')
  @UseInterceptors(Mapping)
  @Idempotent('insert')
  @UseInterceptors(Mapping)
  mappedInsert(@Body() { text }: NewPaperDto): Insert<Paper> {
    return insert(this.papers, { text });
  }

  @Adds('mapped-alone')
  @UseInterceptors(Mapping)
  mappedAlone(@Body() { text }: NewPaperDto): Insert<Paper> {
    return insert(this.papers, { text });
  }

  @Adds('mapped-observable')
  @Idempotent()
  @UseInterceptors(Mapping)
  mappedObservable(@Body() { text }: NewPaperDto): Observable<Insert<Paper>> {
    return of(insert(this.papers, { text }));
  }

  /** Has an effect of its own before its first statement. */
  @Adds('acting')
  @Idempotent()
  acting(@Body() { text }: NewPaperDto): Insert<Paper> {
    PapersController.calls.set(text, (PapersController.calls.get(text) ?? 0) + 1);
    return insert(this.papers, { text });
  }

  @Adds('loose', {})
  @Idempotent('insert')
  loose(@Body() { text }: NewPaperDto): Insert<Paper> {
    const loose = { z: 1, a: [2, { y: null, b: '1.50' }], text };
    return insert(this.papers, { text, loose });
  }

  @Adds('shown', {})
  @Idempotent()
  @UseInterceptors(ClassSerializerInterceptor)
  async shown(@Body() { text }: NewPaperDto): Promise<Shown> {
    await this.papers.addRow({ text });
    return new Shown(text);
  }

  @Adds('stamped', {})
  @Idempotent()
  @UseInterceptors(Stamping)
  async stamped(@Body() { text }: NewPaperDto): Promise<object> {
    const { id } = await this.papers.addRow({ text });
    return { id, text };
  }

  @Adds('stamped-insert', {})
  @Idempotent('insert')
  @UseInterceptors(Stamping)
  stampedInsert(@Body() { text }: NewPaperDto): Insert<Paper> {
    return insert(this.papers, { text });
  }

  @Adds('counted-insert')
  @Idempotent('insert')
  @UseInterceptors(Counting)
  countedInsert(@Body() { text }: NewPaperDto): Insert<Paper> {
    return insert(this.papers, { text });
  }

  @Adds('undone')
  @UseInterceptors(FailingOnce)
  @Idempotent()
  undone(@Body() { text }: NewPaperDto): Promise<Paper> {
    return this.papers.addRow({ text });
  }

  @Adds('observed', MADE)
  @UseInterceptors(Numbering)
  @Idempotent()
  observed(@Body() { text }: NewPaperDto): Observable<Paper> {
    return from(this.papers.addRow({ text }));
  }

  @Delete('removed/:text')
  @Idempotent()
  @Does('pets:write', { status: 204 })
  async removed(@Param('text') text: string): Promise<void> {
    await this.papers.addRow({ text });
  }

  @Adds('named')
  @Idempotent('insert')
  named(@Body() { text }: NewPaperDto, @Res({ passthrough: true }) response: Response): Insert<Paper> {
    response.setHeader('Location', `/papers/${text}`);
    return insert(this.papers, { text });
  }

  @Adds('due')
  @Idempotent('insert')
  due(@Body() { text }: DueDto): Insert<Paper> {
    return insert(this.papers, { text });
  }

  @Put('put')
  @Idempotent('insert')
  @Does('pets:write', { ...MADE, located: true })
  put(@Body() { text }: NewPaperDto): Insert<Paper> {
    return insert(this.papers, { text });
  }

  /** Creates or replaces: the status says which. */
  @Put('put/:id')
  @Idempotent()
  @Does('pets:write', { returns: PaperDto })
  putOne(
    @Param('id') id: string,
    @Body() { text }: NewPaperDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Paper> {
    if (id === 'new') {
      response.status(201);
      response.set({ Location: `/v1/papers/${id}`, Link: '</v1/papers>; rel="collection"', ETag: '"one"' });
      response.append('X-Note', ['a', 'b']);
    }
    return this.papers.addRow({ text });
  }

  @Adds('read', { returns: DatedDto })
  @Idempotent()
  @UseInterceptors(Reading)
  async read(@Body() { text }: NewPaperDto): Promise<DatedDto> {
    const { id } = await this.papers.addRow({ text });
    return { id, text, at: new Date('2030-01-31T12:00:00Z') };
  }

  @Adds('asked/:mode', MADE)
  @Idempotent()
  async asked(@Query('mode') mode: string, @Body() { text }: NewPaperDto): Promise<Paper> {
    return this.transactions.run(() => this.papers.addRow({ text: `${text} ${mode}` }));
  }

  @Get()
  @Does('pets:read', { returns: [PaperDto] })
  async list(@Query() query: PageQuery, @Reply() reply: ReplyHeaders): Promise<Page<Paper>> {
    return reply.page(await this.papers.page({}, query));
  }

  @Get(':id')
  @Does('pets:read', { returns: PaperDto })
  get(@Param('id') id: string): Promise<Paper> {
    return this.papers.getRow({ id }, 'pet_not_found');
  }
}
