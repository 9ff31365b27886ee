import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  AccountId,
  Idempotent,
  Insert,
  Operation,
  type Page,
  Reply,
  type ReplyHeaders,
  Stability,
} from 'petstore/platform';
import {
  AppointmentChangeDto,
  AppointmentDto,
  AppointmentParams,
  ListAppointmentsQuery,
  NewAppointmentDto,
} from './appointment.dto.js';
import { Appointment } from './appointment.entity.js';
import { AppointmentsService } from './appointments.service.js';

@ApiTags('appointments')
@Stability('experimental')
@Controller('appointments')
export class AppointmentsController {
  constructor(private readonly appointments: AppointmentsService) {}

  @Get()
  @Operation({
    id: 'listAppointments',
    summary: 'List your appointments',
    description: 'The appointments of your account.',
    needs: 'appointments:read',
    returns: [AppointmentDto],
  })
  async list(
    @AccountId() accountId: string,
    @Query() query: ListAppointmentsQuery,
    @Reply() reply: ReplyHeaders,
  ): Promise<Page<AppointmentDto>> {
    return reply.page(await this.appointments.list(accountId, query));
  }

  @Post()
  @Idempotent('insert')
  @Operation({
    id: 'createAppointment',
    summary: 'Add a new appointment',
    description: 'Its id is assigned by the service.',
    needs: 'appointments:write',
    returns: AppointmentDto,
    status: 201,
    located: true,
    errors: { pet_not_found: 400 },
  })
  create(@AccountId() accountId: string, @Body() body: NewAppointmentDto): Insert<Appointment> {
    return this.appointments.adding(accountId, body);
  }

  @Get(':appointmentId')
  @Operation({
    id: 'getAppointment',
    summary: 'Fetch one of your appointments',
    description: 'By its id, as `GET /appointments` lists it.',
    needs: 'appointments:read',
    returns: AppointmentDto,
    errors: { appointment_not_found: 404 },
  })
  get(
    @AccountId() accountId: string,
    @Param() { appointmentId }: AppointmentParams,
  ): Promise<AppointmentDto> {
    return this.appointments.get(accountId, appointmentId);
  }

  @Patch(':appointmentId')
  @Idempotent()
  @Operation({
    id: 'updateAppointment',
    summary: 'Change one of your appointments',
    description: 'Fields that you leave out keep their values; `null` removes an optional value.',
    needs: 'appointments:write',
    returns: AppointmentDto,
    errors: { appointment_not_found: 404, appointment_final: 409, pet_not_found: 400 },
  })
  update(
    @AccountId() accountId: string,
    @Param() { appointmentId }: AppointmentParams,
    @Body() changes: AppointmentChangeDto,
  ): Promise<AppointmentDto> {
    return this.appointments.update(accountId, appointmentId, changes);
  }

  @Delete(':appointmentId')
  @Idempotent()
  @Operation({
    id: 'deleteAppointment',
    summary: 'Delete one of your appointments',
    description: 'Deletes the appointment permanently.',
    needs: 'appointments:write',
    status: 204,
    errors: { appointment_not_found: 404 },
  })
  remove(@AccountId() accountId: string, @Param() { appointmentId }: AppointmentParams): Promise<void> {
    return this.appointments.remove(accountId, appointmentId);
  }
}
