import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  Delete,
  Get,
  HttpException,
  InternalServerErrorException,
  Param,
  ParseIntPipe,
  Post,
  Put,
  Res,
  UseInterceptors,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import type { Response } from 'express';
import { from, map, type Observable } from 'rxjs';
import type { ErrorCode } from '../../src/platform/api/index.js';
import {
  ApiError,
  Idempotent,
  Int64Field,
  Operation,
  Public,
  Sunset,
  TextField,
  Transactions,
} from '../../src/platform/index.js';

class NewNoteDto {
  @TextField({ description: 'Text.', max: 255 })
  text!: string;
}

export class NoteDto {
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

/** What interceptors have seen. */
export const seen: unknown[] = [];

class Watching implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((value) => (seen.push(value), value)));
  }
}

/** Counts the answers that it has changed. */
class Numbering implements NestInterceptor {
  private static count = 0;

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
  private static hasFailed = false;

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

/** Operations that write into a table `notes`. */
@ApiTags('pets')
@Controller('notes')
export class NotesController {
  constructor(private readonly transactions: Transactions) {}

  @Delete('last-204/:id')
  @Operation({ id: 'last204', summary: 'Below', needs: 'pets:write', status: 204 })
  @Idempotent()
  async last204(@Param('id') id: string): Promise<void> {
    await this.write(id);
  }

  /** Creates or replaces: the status says which. */
  @Put('put/:id')
  @UseInterceptors(Watching)
  @Operation({ id: 'putNote', summary: 'Creates or replaces', needs: 'pets:write', returns: NoteDto })
  @Idempotent()
  async put(
    @Param('id') id: string,
    @Body() { text }: NewNoteDto,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Note> {
    if (id.startsWith('new')) {
      response.status(201);
      response.set({ Location: `/v1/notes/${id}`, Link: '</v1/notes>; rel="collection"', ETag: '"one"' });
      response.append('X-Note', ['a', 'b']);
    }
    return this.write(text);
  }

  @Post('numbered')
  @UseInterceptors(Numbering)
  @Operation({
    id: 'numbered',
    summary: 'What an interceptor changes',
    needs: 'pets:write',
    returns: NoteDto,
    status: 201,
    located: true,
  })
  @Idempotent()
  numbered(@Body() { text }: NewNoteDto): Promise<Note> {
    return this.write(text);
  }

  @Post('told')
  @UseInterceptors(FailingOnce)
  @Operation({
    id: 'told',
    summary: 'A failure after the write',
    needs: 'pets:write',
    returns: NoteDto,
    status: 201,
    located: true,
  })
  @Idempotent()
  told(@Body() { text }: NewNoteDto): Promise<Note> {
    return this.write(text);
  }

  @Post('observed')
  @Operation({ id: 'observed', summary: 'An Observable', needs: 'pets:write', returns: NoteDto })
  @Idempotent()
  observed(@Body() { text }: NewNoteDto): Observable<Note> {
    return from(this.write(text));
  }

  /** Writes a row, whatever the operation. */
  private async write(text: string): Promise<Note> {
    const sql = 'INSERT INTO notes (text) VALUES ($1) RETURNING id, text';
    const [row] = await this.transactions.manager.query<{ id: string; text: string }[]>(sql, [text]);
    return { ...row!, secret: 'secret' };
  }
}

@ApiTags('pets')
@Controller({ path: 'things', version: '1' })
export class ThingsController {
  @Get()
  @UseInterceptors(Watching)
  @Operation({ id: 'getThing', summary: 'A thing', needs: 'pets:read', returns: NoteDto })
  @Sunset({ deprecated: '2026-11-21', sunset: '2099-12-05', successor: '/v2/things' })
  get(): Note {
    return { id: '9007199254740993', text: 'plain', secret: 'secret' };
  }
}

@Public()
@ApiTags('tried')
@Controller({ path: 'things', version: '2' })
export class ThingsV2Controller {
  @Get()
  @Operation({ id: 'getThingV2', summary: 'A thing, as version 2 has it', returns: NoteDto })
  get(): Note {
    return { id: '2', text: 'second', secret: 'secret' };
  }
}

/** Exceptions, pipes and empty answers as Nest's documentation has them. */
@Public()
@ApiTags('tried')
@Controller('usual')
export class UsualController {
  @Get('thrown/:status')
  thrown(@Param('status') status: string): never {
    throw new HttpException('The other one is away.', Number(status));
  }

  @Get('coded/:code')
  coded(@Param('code') code: ErrorCode): never {
    throw new ApiError(code);
  }

  @Get('broken')
  broken(): never {
    throw new TypeError('secret');
  }

  @Get('silent')
  silent(): never {
    throw new HttpException('', 409);
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
}

/** A literal path, and after it one with a parameter. */
@Public()
@ApiTags('tried')
@Controller('bookings')
export class BookingsController {
  @Get('export') export(): void {}
  @Get(':bookingId') get(): void {}
}
