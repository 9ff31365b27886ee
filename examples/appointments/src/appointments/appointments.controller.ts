import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import {
  AccountId,
  Idempotent,
  Operation,
  type Page,
  Reply,
  type ReplyHeaders,
  Stability,
  Tag,
} from 'petstore/platform';
import {
  AppointmentChangeDto,
  AppointmentDto,
  AppointmentParams,
  ListAppointmentsQuery,
  NewAppointmentDto,
} from './appointment.dto.js';
import { AppointmentsService } from './appointments.service.js';

@Tag('appointments', 'The appointments of your account.')
@Stability('experimental')
@Controller('appointments')
export class AppointmentsController {
  constructor(private readonly appointments: AppointmentsService) {}

  @Get()
  @Operation({
    id: 'listAppointments',
    summary: 'List your appointments',
    description: 'The appointments of your account, or those of some time or status.',
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
  @Idempotent({ writesRow: true })
  @Operation({
    id: 'createAppointment',
    summary: 'Book an appointment',
    description: 'Its animal must be there.',
    returns: AppointmentDto,
    status: 201,
    located: true,
    errors: { pet_not_found: 400 },
  })
  async create(
    @AccountId() accountId: string,
    @Body() body: NewAppointmentDto,
    @Reply() reply: ReplyHeaders,
  ): Promise<AppointmentDto> {
    return reply.created(await this.appointments.create(accountId, body));
  }

  @Get(':appointmentId')
  @Operation({
    id: 'getAppointment',
    summary: 'Fetch one of your appointments',
    description: 'By its id, as `GET /appointments` lists it.',
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
  @Idempotent({ writesRow: true })
  @Operation({
    id: 'updateAppointment',
    summary: 'Move, keep or cancel an appointment',
    description: 'One that was kept or cancelled stays as it is.',
    returns: AppointmentDto,
    errors: { appointment_not_found: 404, appointment_final: 409 },
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
    summary: 'Delete an appointment',
    description: 'It is gone at once, and for good.',
    status: 204,
    errors: { appointment_not_found: 404 },
  })
  remove(@AccountId() accountId: string, @Param() { appointmentId }: AppointmentParams): Promise<void> {
    return this.appointments.remove(accountId, appointmentId);
  }
}
