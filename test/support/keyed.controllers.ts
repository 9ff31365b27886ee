import { ApiTags } from '@nestjs/swagger';
import {
  Body,
  type CallHandler,
  ClassSerializerInterceptor,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  type NestInterceptor,
  Param,
  Post,
  Put,
  Query,
  Res,
  UseInterceptors,
} from '@nestjs/common';
import { Exclude, Expose } from 'class-transformer';
import type { Response } from 'express';
import { map, type Observable, of } from 'rxjs';
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
  Operation,
  Page,
  PageQuery,
  Reply,
  ReplyHeaders,
  TextField,
  TimestampField,
  Transactions,
} from '../../src/platform/index.js';

/** A row with a column of JSON as it was written, and with what no client may see. */
@Entity('papers')
export class Paper {
  @IdColumn('papers_pkey')
  id!: string;

  @Column('text')
  text!: string;

  @Column('json', { nullable: true })
  loose!: unknown;

  @Exclude()
  @Column('text', { default: 'secret' })
  secret!: string;
}

export const CREATE_PAPERS = `CREATE TABLE papers (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  text text NOT NULL, loose json, secret text NOT NULL DEFAULT 'secret')`;
export const PAPERS = DataModule.forFeature([Paper]);

class NewPaperDto {
  @TextField({ description: 'Text.', max: 255 })
  text!: string;
}

class PaperDto {
  @Int64Field({ description: 'Identifier.' })
  id!: string;

  @TextField({ description: 'Text.', max: 255 })
  text!: string;
}

class DatedDto extends PaperDto {
  @TimestampField({ description: 'A time.' })
  at!: Date;
}

/** What a method returns, which ClassSerializerInterceptor knows how to show. */
class Shown {
  readonly text: string;

  @Exclude()
  readonly secret = 'secret';

  constructor(text: string) {
    this.text = text;
  }

  @Expose()
  get length(): number {
    return this.text.length;
  }
}

/** What interceptors have got, by the text of the request. */
export const got = new Map<string, unknown[]>();

@Injectable()
export class Mapping implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { body } = context.switchToHttp().getRequest<{ body: NewPaperDto }>();
    return next.handle().pipe(
      map((value: Paper) => {
        got.set(body.text, [...(got.get(body.text) ?? []), value]);
        return Object.assign({}, value, { text: `${value.text} mapped` });
      }),
    );
  }
}

/** Makes another answer of each value. */
@Injectable()
class Stamping implements NestInterceptor {
  private static count = 0;

  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data, number: ++Stamping.count })));
  }
}

/** Changes the value itself, each time in another way. */
@Injectable()
class Counting implements NestInterceptor {
  private static count = 0;

  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next
      .handle()
      .pipe(map((paper: Paper) => Object.assign(paper, { text: `${paper.text} ${++Counting.count}` })));
  }
}

/** Needs what the class of the value has. */
@Injectable()
class Reading implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next
      .handle()
      .pipe(
        map((value: DatedDto) =>
          Object.assign({}, value, { text: `${value.text} in ${value.at.getUTCFullYear()}` }),
        ),
      );
  }
}

const CREATED = { returns: PaperDto, status: 201, located: true };

@ApiTags('tried')
@Controller('papers')
export class PapersController {
  /** How often a method was called, by the text of the request. */
  static readonly calls = new Map<string, number>();

  constructor(
    @InjectFastRepository(Paper) private readonly papers: FastRepository<Paper>,
    private readonly transactions: Transactions,
  ) {}

  @Post('mapped-inside')
  @UseInterceptors(Mapping)
  @Idempotent()
  @Operation({ id: 'mapInside', summary: 'It', needs: 'pets:write', ...CREATED })
  mappedInside(@Body() { text }: NewPaperDto): Insert<Paper> {
    return this.adding(text);
  }

  @Post('mapped-outside')
  @Idempotent()
  @UseInterceptors(Mapping)
  @Operation({ id: 'mapOutside', summary: 'It', needs: 'pets:write', ...CREATED })
  async mappedOutside(@Body() { text }: NewPaperDto): Promise<Insert<Paper>> {
    return this.adding(text);
  }

  @Post('mapped-insert')
  @UseInterceptors(Mapping)
  @Idempotent('insert')
  @UseInterceptors(Mapping)
  @Operation({ id: 'mapInsert', summary: 'It', needs: 'pets:write', ...CREATED })
  mappedInsert(@Body() { text }: NewPaperDto): Insert<Paper> {
    return this.adding(text);
  }

  @Post('mapped-alone')
  @UseInterceptors(Mapping)
  @Operation({ id: 'mapAlone', summary: 'It', needs: 'pets:write', ...CREATED })
  mappedAlone(@Body() { text }: NewPaperDto): Insert<Paper> {
    return this.adding(text);
  }

  @Post('mapped-observable')
  @Idempotent()
  @UseInterceptors(Mapping)
  @Operation({ id: 'mapObservable', summary: 'It', needs: 'pets:write', ...CREATED })
  mappedObservable(@Body() { text }: NewPaperDto): Observable<Insert<Paper>> {
    return of(this.adding(text));
  }

  /** Has an effect of its own before its first statement. */
  @Post('acting')
  @Idempotent()
  @Operation({ id: 'act', summary: 'It', needs: 'pets:write', ...CREATED })
  acting(@Body() { text }: NewPaperDto): Insert<Paper> {
    PapersController.calls.set(text, (PapersController.calls.get(text) ?? 0) + 1);
    return this.adding(text);
  }

  @Post('loose')
  @Idempotent('insert')
  @Operation({ id: 'addLoose', summary: 'It', needs: 'pets:write', status: 201 })
  loose(@Body() { text }: NewPaperDto): Insert<Paper> {
    const loose = { z: 1, a: [2, { y: null, b: '1.50' }], text };
    return insert(this.papers, { text, loose });
  }

  @Post('shown')
  @Idempotent()
  @UseInterceptors(ClassSerializerInterceptor)
  @Operation({ id: 'show', summary: 'It', needs: 'pets:write', status: 201 })
  async shown(@Body() { text }: NewPaperDto): Promise<Shown> {
    await this.papers.addRow({ text });
    return new Shown(text);
  }

  @Post('stamped')
  @Idempotent()
  @UseInterceptors(Stamping)
  @Operation({ id: 'stamp', summary: 'It', needs: 'pets:write', status: 201 })
  async stamped(@Body() { text }: NewPaperDto): Promise<object> {
    const { id } = await this.papers.addRow({ text });
    return { id, text };
  }

  @Post('stamped-insert')
  @Idempotent('insert')
  @UseInterceptors(Stamping)
  @Operation({ id: 'stampInsert', summary: 'It', needs: 'pets:write', status: 201 })
  stampedInsert(@Body() { text }: NewPaperDto): Insert<Paper> {
    return this.adding(text);
  }

  @Post('counted-insert')
  @Idempotent('insert')
  @UseInterceptors(Counting)
  @Operation({ id: 'countInsert', summary: 'It', needs: 'pets:write', ...CREATED })
  countedInsert(@Body() { text }: NewPaperDto): Insert<Paper> {
    return this.adding(text);
  }

  @Post('named')
  @Idempotent('insert')
  @Operation({ id: 'namePaper', summary: 'It', needs: 'pets:write', ...CREATED })
  named(@Body() { text }: NewPaperDto, @Res({ passthrough: true }) response: Response): Insert<Paper> {
    response.setHeader('Location', `/papers/${text}`);
    return this.adding(text);
  }

  @Put('put')
  @Idempotent('insert')
  @Operation({ id: 'putPaper', summary: 'It', needs: 'pets:write', ...CREATED })
  put(@Body() { text }: NewPaperDto): Insert<Paper> {
    return this.adding(text);
  }

  @Post('read')
  @Idempotent()
  @UseInterceptors(Reading)
  @Operation({ id: 'readPaper', summary: 'It', needs: 'pets:write', returns: DatedDto, status: 201 })
  async read(@Body() { text }: NewPaperDto): Promise<DatedDto> {
    const { id } = await this.papers.addRow({ text });
    return { id, text, at: new Date('2030-01-31T12:00:00Z') };
  }

  @Post('asked/:mode')
  @Idempotent()
  @Operation({ id: 'ask', summary: 'It', needs: 'pets:write', returns: PaperDto, status: 201 })
  async asked(@Query('mode') mode: string, @Body() { text }: NewPaperDto): Promise<Paper> {
    return this.transactions.run(() => this.papers.addRow({ text: `${text} ${mode}` }));
  }

  @Get()
  @Operation({ id: 'listPapers', summary: 'It', needs: 'pets:read', returns: [PaperDto] })
  async list(@Query() query: PageQuery, @Reply() reply: ReplyHeaders): Promise<Page<Paper>> {
    return reply.page(await this.papers.page({}, query));
  }

  @Get(':id')
  @Operation({ id: 'getPaper', summary: 'It', needs: 'pets:read', returns: PaperDto })
  get(@Param('id') id: string): Promise<Paper> {
    return this.papers.getRow({ id }, 'pet_not_found');
  }

  private adding(text: string): Insert<Paper> {
    return insert(this.papers, { text });
  }
}
