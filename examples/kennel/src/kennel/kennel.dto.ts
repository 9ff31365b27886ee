import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import {
  ChangeSchema,
  ChangeType,
  IntegerField,
  JsonField,
  ListField,
  ObjectField,
  PageQuery,
  PatternField,
  TextField,
  TimestampField,
  UuidField,
} from 'petstore/platform';

/** A picture of one pixel. */
const POINT =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

export const ID = {
  description: 'Identifier of the dog, chosen by its owner.',
  example: '01994b1e-6c40-7d52-9f1b-0c8a4e2d7a10',
};
const PHOTO_ID = {
  description: 'Identifier of the photo.',
  example: '01994b1e-6c40-7d52-9f1b-0c8a4e2d7a20',
};
export const NAME = { description: 'Name of the dog.', example: 'Luna', max: 100, blank: false };
const BREED = { description: 'Breed of the dog.', example: 'Beagle', max: 100, blank: false };
const CAPTION = { description: 'What the photo shows.', example: 'Luna in the snow', max: 200 };
const TRAITS = {
  description: 'Further facts about the dog.',
  example: { likes: ['swimming'], chip: { no: 276098106123456 } },
  maxBytes: 4_000,
  maxDepth: 5,
};

@ApiSchema({ name: 'Vaccination' })
export class VaccinationDto {
  @TextField({ description: 'The vaccine.', example: 'Rabies', max: 100 })
  vaccine!: string;

  @TimestampField({ description: 'When the dog was vaccinated.', example: '2030-01-31T12:00:00.000Z' })
  at!: Date;

  @TextField({ description: 'Number of the batch.', example: 'A-17', max: 100, optional: true })
  batch?: string;
}

const VACCINATION = { description: 'Last vaccination.', of: VaccinationDto, optional: true };

@ApiSchema({ name: 'NewDog' })
export class NewDogDto {
  @TextField(NAME)
  name!: string;

  @TextField(BREED)
  breed!: string;

  @JsonField(TRAITS)
  traits!: Record<string, unknown>;

  @ObjectField(VACCINATION)
  vaccination?: VaccinationDto;

  @UuidField({ ...PHOTO_ID, optional: true })
  photoId?: string;
}

/** A new vaccination replaces the earlier one as a whole. */
@ChangeSchema('DogChange')
export class DogChangeDto extends ChangeType(NewDogDto) {}

@ApiSchema({ name: 'Dog' })
export class DogDto {
  @UuidField(ID)
  id!: string;

  @TextField(NAME)
  name!: string;

  @TextField(BREED)
  breed!: string;

  @JsonField(TRAITS)
  traits!: Record<string, unknown>;

  @ObjectField(VACCINATION)
  vaccination?: object | null;

  @UuidField({ ...PHOTO_ID, optional: true })
  photoId?: string | null;

  @TimestampField({ description: 'When the dog last changed.', example: '2030-01-31T12:00:00.000Z' })
  updatedAt!: Date;
}

export class DogParams {
  @UuidField(ID)
  dogId!: string;
}

export class SearchQuery extends PageQuery {
  @TextField({ description: 'Words of the name and the breed.', example: 'beagle', max: 100 })
  words!: string;
}

@ApiSchema({ name: 'BreedCount' })
export class BreedCountDto {
  @TextField(BREED)
  breed!: string;

  @IntegerField({ description: 'Number of dogs of this breed.', example: 1, min: 0, max: 2_147_483_647 })
  dogs!: number;
}

@ApiSchema({ name: 'BreedReport' })
export class BreedReportDto {
  @ListField({ description: 'The breeds, the most common first.', of: BreedCountDto, max: 1_000 })
  breeds!: BreedCountDto[];
}

@ApiSchema({ name: 'Photo' })
export class PhotoDto {
  @UuidField(PHOTO_ID)
  id!: string;

  @PatternField({
    description: 'Media type of the photo.',
    example: 'image/png',
    pattern: /^image\/(?:png|jpeg)$/,
    max: 20,
    must: 'image/png or image/jpeg',
  })
  type!: string;

  @TextField(CAPTION)
  caption!: string;
}

/** The form of an upload: its text, and the file, which Nest's interceptor reads. */
@ApiSchema({ name: 'NewPhoto' })
export class NewPhotoDto {
  @TextField(CAPTION)
  caption!: string;

  @ApiProperty({
    description: 'The picture, PNG or JPEG.',
    type: 'string',
    format: 'binary',
    example: POINT,
  })
  photo!: unknown;
}

export class PhotoParams {
  @UuidField(PHOTO_ID)
  photoId!: string;
}
