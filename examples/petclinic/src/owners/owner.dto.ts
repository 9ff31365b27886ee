import { ApiSchema } from '@nestjs/swagger';
import {
  BooleanField,
  ChangeSchema,
  ChangeType,
  EmailField,
  Int64Field,
  Int64Param,
  ListField,
  ObjectField,
  PageQuery,
  PatternField,
  TextField,
} from 'petstore/platform';

const LAST_NAME = { description: 'Last name.', example: 'Franklin', max: 30, blank: false };

@ApiSchema({ name: 'Address' })
export class AddressDto {
  @TextField({ description: 'Street and number.', example: '110 W. Liberty St.', max: 255, blank: false })
  street!: string;

  @TextField({ description: 'City.', example: 'Madison', max: 80, blank: false })
  city!: string;

  @PatternField({
    ...{ description: 'Postal code.', example: '53703', optional: true },
    ...{ pattern: /^[0-9]{4,5}$/, max: 5, must: 'four or five digits' },
  })
  zip?: string;
}

@ApiSchema({ name: 'NewOwner' })
export class NewOwnerDto {
  @TextField({ description: 'First name.', example: 'George', max: 30, blank: false })
  firstName!: string;

  @TextField(LAST_NAME)
  lastName!: string;

  @ObjectField({ description: 'Where the owner lives.', of: AddressDto })
  address!: AddressDto;

  @PatternField({
    ...{ description: 'Telephone number.', example: '6085551023' },
    ...{ pattern: /^[0-9]{1,10}$/, max: 10, must: 'one to ten digits' },
  })
  telephone!: string;

  @EmailField({ description: 'Email address.', example: 'george@example.com', optional: true })
  email?: string | null;

  @ListField({
    description: 'Whatever the clinic likes to note.',
    of: TextField({ description: 'A note.', example: 'regular', max: 30, blank: false }),
    max: 10,
    unique: true,
  })
  tags!: string[];

  @BooleanField({ description: 'Whether the owner gets the newsletter.', example: true })
  newsletter!: boolean;
}

@ChangeSchema('OwnerChange')
export class OwnerChangeDto extends ChangeType(NewOwnerDto) {}

@ApiSchema({ name: 'Owner' })
export class OwnerDto extends NewOwnerDto {
  @Int64Field({ description: 'Unique identifier, assigned by the service.', example: 1 })
  id!: string;
}

export class OwnerParams {
  @Int64Param({ description: 'Identifier of the owner.', example: 1 })
  ownerId!: string;
}

export class ListOwnersQuery extends PageQuery {
  @TextField({
    ...LAST_NAME,
    description: 'Only owners whose last name begins with this.',
    optional: true,
  })
  lastName?: string;
}
