import {
  BadRequestException,
  Controller,
  Get,
  HttpException,
  InternalServerErrorException,
  Param,
  ParseIntPipe,
  UseInterceptors,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import type { ErrorCode } from '../../src/platform/api/index.js';
import { ApiError, Int64Field, Operation, Public, Sunset, TextField } from '../../src/platform/index.js';
import { Does, PublicTried } from './tried.js';

export class NoteDto {
  @Int64Field({ description: 'Identifier.' }) id!: string;
  @TextField({ description: 'Text.', max: 255 }) text!: string;
}

/** A row as a service has it, with fields that no client may see. */
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

/** Exceptions, pipes and empty answers as Nest's documentation shows them. */
@PublicTried('usual')
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
  @Does(undefined, { returns: NoteDto })
  nothing(): null {
    return null;
  }
}

/** A literal path, and after it one with a parameter. */
@PublicTried('bookings')
export class BookingsController {
  @Get('export') export(): void {}
  @Get(':bookingId') get(): void {}
}
