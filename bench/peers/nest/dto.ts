import { Transform } from 'class-transformer';
import {
  IsIn,
  IsInt,
  IsOptional,
  IsString,
  Length,
  Matches,
  Max,
  Min,
  ValidateBy,
  ValidateIf,
} from 'class-validator';
import {
  int64FromJson,
  isInt64Text,
  isPlainText,
  lengthInCodePoints,
} from '../../../src/platform/api/formats.js';
import { STATUSES } from '../shared.js';

const IsInt64 = () => ValidateBy({ name: 'isInt64', validator: { validate: isInt64Text } });
const FromInt64 = () => Transform(({ value }) => int64FromJson(value));
const Digits = () => Transform(({ value }) => (/^[1-9]\d*$/.test(value) ? Number(value) : value));

/** `Length` counts an emoji as two, and accepts text that PostgreSQL does not. */
const IsText = (max: number) =>
  ValidateBy({
    name: 'isText',
    validator: { validate: (text) => isPlainText(text) && lengthInCodePoints(text) <= max },
  });

export class ListPetsQuery {
  @Digits()
  @IsInt()
  @Min(1)
  @Max(100)
  limit = 20;

  @IsOptional()
  @IsIn(STATUSES)
  status?: string;

  @IsOptional()
  @IsString()
  cursor?: string;
}

export class PetParams {
  @IsInt64()
  petId!: string;
}

export class NewPetDto {
  @IsText(255)
  @Matches(/\S/)
  @Length(1)
  @IsString()
  name!: string;

  @FromInt64()
  @IsInt64()
  categoryId!: string;

  // `IsOptional` would let null through.
  @ValidateIf((_body, status) => status !== undefined)
  @IsIn(STATUSES)
  status?: string | null;
}

export class NewOrderDto {
  @FromInt64()
  @IsInt64()
  petId!: string;
}

export class NewMessageDto {
  @IsText(65_536)
  @Length(1)
  @IsString()
  message!: string;
}
