import { ApiSchema } from '@nestjs/swagger';
import {
  ChangeSchema,
  ChangeType,
  EnumField,
  Int64Field,
  Int64Param,
  IntegerField,
  PageQuery,
  TextField,
  TimestampField,
} from 'petstore/platform';
import { AppointmentStatus } from './appointment.entity.js';

const PET_ID = { description: 'Identifier of the pet of the appointment.', example: 1 };
const STARTS_AT = { description: 'When the appointment starts.', example: '2030-01-31T12:00:00.000Z' };
const MINUTES = { description: 'Minutes of the appointment.', example: 5, min: 5, max: 240 };
const NOTE = {
  description: 'Note of the appointment, stored as sent.',
  example: 'Note',
  max: 1000,
  blank: false,
  optional: true,
};
const STATUS = {
  description: 'Status of the appointment.',
  example: 'booked',
  name: 'AppointmentStatus',
  values: {
    [AppointmentStatus.Booked]: 'It is booked.',
    [AppointmentStatus.Kept]: 'It is kept.',
    [AppointmentStatus.Cancelled]: 'It is cancelled.',
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

@ChangeSchema('AppointmentChange')
export class AppointmentChangeDto extends ChangeType(NewAppointmentDto) {
  @EnumField({
    ...STATUS,
    description: '`booked` can become `kept` or `cancelled`; both are final.',
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

export class ListAppointmentsQuery extends PageQuery {
  @EnumField({ ...STATUS, description: 'Only appointments with this status.', optional: true })
  status?: AppointmentStatus;
}

export class AppointmentParams {
  @Int64Param({ description: 'Identifier of the appointment.', example: 1 })
  appointmentId!: string;
}
