import { Body, Controller, Get, Patch, Post, Query } from '@nestjs/common';
import { ApiSchema, ApiTags } from '@nestjs/swagger';
import {
  BooleanField,
  BooleanParam,
  DateField,
  EmailField,
  EnumField,
  Int64Field,
  Int64Param,
  IntegerField,
  MoneyField,
  PatternField,
  TextField,
  TimestampField,
  UrlField,
  UuidField,
} from '../../src/platform/api/fields.js';
import { JsonField, ListField, ListParam, ObjectField } from '../../src/platform/api/nested-fields.js';
import { Does } from './tried.js';

/** One field of every kind, as a team could write them. */

const DAY = { description: 'A day.', example: '2030-01-31' };
const TEXT = { description: 'A text.', example: 'Ada', max: 40 };
const ID = { description: 'An id.', example: 7 };
const SIZE = {
  ...{ description: 'A size.', example: 'small', name: 'Size' },
  values: { small: 'Up to 10 kg.', large: 'All others.' },
};
const CODE = {
  description: 'A code.',
  example: 'AB-1234',
  pattern: /^[A-Z]{2}-[0-9]{4}$/,
  max: 7,
  must: 'two capital letters, "-" and four digits',
};
const PRICE = { description: 'A price.', example: '12.50' };
const EXACT = { ...PRICE, max: '99999999999999.9999', decimals: 4 };
const DAYS = ListField({ description: 'Days.', of: DateField(DAY), max: 2 });
const NUMBER = IntegerField({ ...ID, example: 3, min: -5, max: 5 });

@ApiSchema({ name: 'Street' })
class StreetDto {
  @TextField(TEXT) name!: string;
  @IntegerField({ description: 'A number.', example: 7, min: 1, max: 9999 }) no!: number;
}

@ApiSchema({ name: 'Address' })
class AddressDto {
  @TextField(TEXT) city!: string;
  @ObjectField({ description: 'The street.', of: StreetDto, optional: true }) street?: StreetDto;
  @DateField({ ...DAY, optional: true }) since?: string;
}

@ApiSchema({ name: 'Item' })
class ItemDto {
  @Int64Field(ID) petId!: string;
  @MoneyField(PRICE) price!: string;
  @ListField({ description: 'Notes.', of: TextField(TEXT), max: 3, optional: true }) notes?: string[];
}

@ApiSchema({ name: 'Everything' })
class EverythingDto {
  @BooleanField({ description: 'Yes or no.', example: true }) flag!: boolean;
  @DateField(DAY) day!: string;
  @TimestampField({ description: 'A time.', example: '2030-01-31T12:00:00.000Z' }) time!: Date;
  @MoneyField(PRICE) price!: string;
  @MoneyField({ ...EXACT, min: '-99999999999999.9999' }) exact!: string;
  @PatternField(CODE) code!: string;
  @UrlField({ description: 'A page.', example: 'https://example.com/a?b=c#d' }) url!: string;
  @EmailField({ description: 'An address.', example: 'grace@example.com' }) email!: string;
  @UuidField({ description: 'A UUID.', example: '019aa5c2-6f80-7c3e-8f3a-5d2b1c4e6f70' }) uuid!: string;
  @ObjectField({ description: 'Where they live.', of: AddressDto }) address!: AddressDto;
  @ListField({ description: 'Texts.', of: TextField(TEXT), max: 5 }) texts!: string[];
  @ListField({ description: 'Numbers.', of: NUMBER, min: 1, max: 5 }) numbers!: number[];
  @ListField({ description: 'Ids.', of: Int64Field(ID), max: 5 }) ids!: string[];
  @ListField({ description: 'Amounts.', of: MoneyField(PRICE), max: 5 }) amounts!: string[];
  @ListField({ description: 'Sizes.', of: EnumField(SIZE), max: 2 }) sizes!: string[];
  @ListField({ description: 'Items.', of: ItemDto, max: 4 }) items!: ItemDto[];
  @ListField({ description: 'Lists.', of: DAYS, max: 2 }) lists!: string[][];

  @JsonField({
    ...{ description: 'Whatever they like.', maxBytes: 2_000, maxDepth: 5, optional: true },
    example: { color: 'red', sizes: [1, null] },
  })
  settings?: Record<string, unknown>;
}

@ApiSchema({ name: 'EverythingChange' })
class EverythingChangeDto {
  @TextField({ ...TEXT, optional: true, nullable: true }) text?: string | null;
  @DateField({ ...DAY, optional: true, nullable: true }) day?: string | null;
  @MoneyField({ ...PRICE, optional: true, nullable: true }) price?: string | null;
  @EnumField({ ...SIZE, optional: true, nullable: true }) size?: string | null;

  @ObjectField({ description: 'Where they live.', of: AddressDto, optional: true, nullable: true })
  address?: AddressDto | null;

  @ListField({ description: 'Texts.', of: TextField(TEXT), max: 5, optional: true, nullable: true })
  texts?: string[] | null;
}

@ApiSchema({ name: 'Told' })
export class ToldDto {
  @TextField({ ...TEXT, max: 5000 }) told!: string;
}

class EverythingQuery {
  @BooleanParam({ description: 'Yes or no.', optional: true }) flag?: boolean;
  @DateField({ ...DAY, optional: true }) day?: string;
  @MoneyField({ ...PRICE, min: '-5.00', max: '5', optional: true }) price?: string;
  @ListParam({ description: 'Sizes.', of: EnumField(SIZE), max: 2, optional: true }) sizes?: string[];
  @ListParam({ description: 'Days.', of: DateField(DAY), max: 3, optional: true }) days?: string[];
  @ListParam({ description: 'Ids.', of: Int64Param(ID), max: 3, optional: true }) ids?: string[];
  @TextField({ description: 'A word.', max: 10, optional: true }) word?: string;
}

@ApiTags('everything')
@Controller('everything')
export class EverythingController {
  @Post()
  @Does('nothing', { returns: EverythingDto })
  echo(@Body() body: EverythingDto): EverythingDto {
    return body;
  }

  @Patch()
  @Does('nothing', { returns: ToldDto })
  changeEverything(@Body() body: EverythingChangeDto): ToldDto {
    return { told: JSON.stringify(body) };
  }

  @Get()
  @Does('nothing', { returns: ToldDto })
  ask(@Query() query: EverythingQuery): ToldDto {
    return { told: JSON.stringify(query) };
  }
}
