import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ApiError } from '../platform/api/api-error.js';
import type { Page } from '../platform/api/paging.js';
import { paginate } from '../platform/data/paginate.js';
import { Transactions } from '../platform/data/transactions.js';
import { violation } from '../platform/data/violations.js';
import type { AppointmentChangeDto, ListAppointmentsQuery, NewAppointmentDto } from './appointment.dto.js';
import { Appointment, AppointmentStatus } from './appointment.entity.js';

/** The appointments of one account each: to any other account they do not exist. */
@Injectable()
export class AppointmentsService {
  constructor(
    @InjectRepository(Appointment) private readonly appointments: Repository<Appointment>,
    private readonly transactions: Transactions,
  ) {}

  list(accountId: string, { status, ...page }: ListAppointmentsQuery): Promise<Page<Appointment>> {
    return paginate(this.appointments, { accountId, status }, page);
  }

  /** @throws ApiError `pet_not_found` (400) */
  async create(accountId: string, { note, ...body }: NewAppointmentDto): Promise<Appointment> {
    const status = AppointmentStatus.Booked;
    const appointment = this.appointments.create({ ...body, accountId, note: note ?? null, status });
    await this.transactions.manager
      .insert(Appointment, appointment)
      .catch(violation('appointments_pet_id_fkey', 'pet_not_found', 400));
    return appointment;
  }

  /** @throws ApiError `appointment_not_found` */
  async get(accountId: string, id: string): Promise<Appointment> {
    const appointment = await this.appointments.findOneBy({ id, accountId });
    if (!appointment) throw new ApiError('appointment_not_found');
    return appointment;
  }

  /** @throws ApiError `appointment_not_found`, or `appointment_final` for one that was kept or cancelled */
  update(accountId: string, id: string, { note, ...changes }: AppointmentChangeDto): Promise<Appointment> {
    const where = { id, accountId };
    return this.transactions.change(Appointment, where, 'appointment_not_found', (appointment) => {
      if (appointment.status !== AppointmentStatus.Booked) throw new ApiError('appointment_final');
      this.appointments.merge(appointment, changes);
      if (note !== undefined) appointment.note = note || null;
    });
  }

  /** @throws ApiError `appointment_not_found` */
  async remove(accountId: string, id: string): Promise<void> {
    const { affected } = await this.transactions.manager.delete(Appointment, { id, accountId });
    if (!affected) throw new ApiError('appointment_not_found');
  }
}
