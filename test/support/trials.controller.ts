import {
  Body,
  type CanActivate,
  Controller,
  Get,
  Injectable,
  Post,
  type Type,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { NoFilesInterceptor } from '@nestjs/platform-express';
import { ApiExtraModels, ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsIn, IsOptional } from 'class-validator';
import {
  EnumField,
  Idempotent,
  JsonField,
  ListField,
  needsBy,
  ObjectField,
  Operation,
  TextField,
} from '../../src/platform/index.js';
import { ToldDto } from './every-field.js';
import { Does, PublicTried } from './tried.js';

type Stage = 'trial' | 'final';

export class FieldsDto {
  @EnumField({
    description: 'Its stage.',
    name: 'Stage',
    values: { trial: 'A trial.', final: 'Final.' },
    optional: true,
  })
  stage: Stage = 'final';
}

export class RulesDto {
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.trim() : value))
  @IsIn(['trial', 'final'])
  @IsOptional()
  stage?: Stage = 'final';
}

class InsideDto {
  @ApiProperty({ deprecated: true })
  @EnumField({ description: 'Its mark.', name: 'Mark', values: { good: 'Good.' } })
  mark!: string;
}

class FurtherDto {
  @EnumField({ description: 'Its shade.', name: 'Shade', values: { dark: 'Dark.' } })
  shade!: string;

  @TextField({ description: 'A keyword of JSON Schema.', max: 9 }) allOf!: string;
}

class PartDto {
  @EnumField({ description: 'Its tint.', name: 'Tint', values: { pale: 'Pale.' } }) tint!: string;
}

const SCHEMA = { oneOf: [{ type: 'string' }], title: 'One' };

class BesideDto {
  @ObjectField({ description: 'A part.', of: PartDto }) part!: PartDto;

  @ApiProperty({ type: [PartDto] })
  @ListField({ description: 'Parts.', of: PartDto, max: 2 })
  parts!: PartDto[];

  @JsonField({ description: 'A schema.', example: SCHEMA, maxBytes: 100, maxDepth: 4 })
  schema!: object;
}

@ApiExtraModels(BesideDto)
class OutsideDto {
  @ApiProperty({ type: () => [InsideDto] })
  inside!: InsideDto[];
}

const NEEDED = { trial: 'pets:write', final: 'orders:manage' } as const;

/** Operations whose body says which permission they need, in a version of the interface. */
export function trialsOf(version: '1' | '2'): Type {
  const options = (name: string) => ({
    ...{ id: name + (version === '1' ? '' : 'V2'), summary: 'It', returns: ToldDto, bodyOptional: true },
    takes: { types: ['application/json', 'multipart/form-data', 'text/plain'], maxBytes: 10_000 },
  });

  @ApiTags('tried')
  @Controller({ path: 'trials', version })
  class TrialsController {
    @Post('fields')
    @Idempotent()
    @UseInterceptors(NoFilesInterceptor())
    @Operation({ needs: needsBy(FieldsDto, 'stage', NEEDED), ...options('tryFields') })
    fields(@Body() body: FieldsDto): ToldDto {
      return { told: JSON.stringify(body) };
    }

    @Post('rules')
    @Idempotent()
    @UseInterceptors(NoFilesInterceptor())
    @Operation({ needs: needsBy(RulesDto, 'stage', NEEDED), ...options('tryRules') })
    rules(@Body() body: RulesDto): ToldDto {
      return { told: JSON.stringify(body) };
    }
  }
  return TrialsController;
}

@Injectable()
class Refusing implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

@PublicTried('guarded')
@ApiExtraModels(FurtherDto)
export class GuardedController {
  @Post()
  @UseGuards(Refusing)
  @Does(undefined, { returns: ToldDto })
  addGuarded(@Body() body: FieldsDto): ToldDto {
    return { told: JSON.stringify(body) };
  }

  @Get()
  @ApiOperation({ operationId: 'readUsual', summary: 'Named in the words of Swagger' })
  @ApiOkResponse({ type: OutsideDto })
  read(): { id: number } {
    return { id: 1 };
  }
}
