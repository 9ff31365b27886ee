import { ApiSchema } from '@nestjs/swagger';
import {
  type Direction,
  EnumField,
  Int64Field,
  Int64Param,
  IntegerField,
  OrderField,
  PageQuery,
  TextField,
  TimestampField,
} from 'petstore/platform';
import { AppointmentStatus } from './appointment.entity.js';

const PET_ID = { description: 'Identifier of the animal that the appointment is for.', example: 1 };
const STARTS_AT = { description: 'When the appointment starts.', example: '2030-01-31T12:00:00.000Z' };
const MINUTES = { description: 'How long it takes.', example: 30, min: 5, max: 240 };
const NOTE = {
  description: 'A note, stored as sent.',
  example: 'Second vaccination',
  max: 1000,
  optional: true,
};
const STATUS = {
  description: 'What has become of the appointment.',
  example: 'booked',
  name: 'AppointmentStatus',
  values: {
    [AppointmentStatus.Booked]: 'The appointment is to take place.',
    [AppointmentStatus.Kept]: 'The appointment has taken place. Final.',
    [AppointmentStatus.Cancelled]: 'The appointment does not take place. Final.',
  },
};

@ApiSchema({ name: 'NewAppointment' })
export class NewAppointmentDto {
  @Int64Field(PET_ID)
  petId!: string;

  @TimestampField(STARTS_AT)
  startsAt!: Date;

  @IntegerField(MINUTES)
  minutes!: number;

  @TextField(NOTE)
  note?: string;
}

@ApiSchema({ name: 'AppointmentChange' })
export class AppointmentChangeDto {
  @TimestampField({ ...STARTS_AT, optional: true })
  startsAt?: Date;

  @TextField({ ...NOTE, description: 'A new note; an empty one removes it.', min: 0 })
  note?: string;

  @EnumField({
    ...STATUS,
    description: '`booked` goes to `kept` or `cancelled`.',
    example: 'kept',
    optional: true,
  })
  status?: AppointmentStatus;
}

@ApiSchema({ name: 'Appointment' })
export class AppointmentDto {
  @Int64Field({ description: 'Unique identifier, assigned by the service.', example: 1 })
  id!: string;

  @Int64Field(PET_ID)
  petId!: string;

  @TimestampField(STARTS_AT)
  startsAt!: Date;

  @IntegerField(MINUTES)
  minutes!: number;

  @TextField(NOTE)
  note?: string | null;

  @EnumField(STATUS)
  status!: AppointmentStatus;
}

export class AppointmentParams {
  @Int64Param({ description: 'Identifier of the appointment.', example: 1 })
  appointmentId!: string;
}

export class ListAppointmentsQuery extends PageQuery {
  @EnumField({ ...STATUS, description: 'Only appointments with this status.', optional: true })
  status?: AppointmentStatus;

  @TimestampField({ description: 'Only appointments from this time on.', optional: true })
  from?: Date;

  @TimestampField({ description: 'Only appointments before this time.', optional: true })
  to?: Date;

  @OrderField({ by: 'startsAt' })
  order: Direction = 'asc';
}
