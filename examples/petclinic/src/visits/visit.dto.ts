import { ApiSchema } from '@nestjs/swagger';
import {
  DateField,
  Int64Field,
  Int64Param,
  ListField,
  MoneyField,
  PageQuery,
  TextField,
} from 'petstore/platform';

const DATE = { description: 'Day of the visit.', example: '2030-01-31' };
const PRICE = { description: 'What it costs.', example: '12.50', max: '99999.99' };

@ApiSchema({ name: 'VisitItem' })
export class VisitItemDto {
  @TextField({ description: 'What was given or done.', example: 'Vaccine', max: 100, blank: false })
  name!: string;

  @MoneyField(PRICE)
  price!: string;
}

@ApiSchema({ name: 'NewVisit' })
export class NewVisitDto {
  @Int64Field({ description: 'Identifier of the owner, who brings the animal.', example: 1 })
  ownerId!: string;

  @DateField(DATE)
  date!: string;

  @TextField({ description: 'What the visit is for.', example: 'Rabies shot', max: 255, blank: false })
  description!: string;

  @MoneyField({ ...PRICE, description: 'What the visit itself costs.' })
  price!: string;

  @ListField({ description: 'What comes on top.', of: VisitItemDto, max: 20 })
  items!: VisitItemDto[];
}

@ApiSchema({ name: 'Visit' })
export class VisitDto extends NewVisitDto {
  @Int64Field({ description: 'Unique identifier, assigned by the service.', example: 1 })
  id!: string;

  @Int64Field({ description: 'Identifier of the animal.', example: 1 })
  petId!: string;

  @MoneyField({ description: 'All that is to be paid.', example: '25.00' })
  total!: string;
}

export class PetVisitsParams {
  @Int64Param({ description: 'Identifier of the animal.', example: 1 })
  petId!: string;
}

export class VisitParams extends PetVisitsParams {
  @Int64Param({ description: 'Identifier of the visit.', example: 1 })
  visitId!: string;
}

export class ListVisitsQuery extends PageQuery {
  @DateField({ ...DATE, description: 'Only visits on this day or later.', optional: true })
  from?: string;

  @DateField({ ...DATE, description: 'Only visits before this day.', optional: true })
  to?: string;
}
