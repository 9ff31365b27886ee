import { Injectable } from '@nestjs/common';
import {
  AccountClosing,
  ApiError,
  FastRepository,
  InjectFastRepository,
  Insert,
  type Page,
  Transactions,
  insert,
  violation,
} from 'petstore/platform';
import { AppointmentChangeDto, ListAppointmentsQuery, NewAppointmentDto } from './appointment.dto.js';
import { Appointment, AppointmentStatus } from './appointment.entity.js';

const PET_ID_MISSING = violation(Appointment, 'appointments_pet_id_fkey', 'pet_not_found', 400);

/** The appointments of accounts. Each call sees the appointments of one account. */
@Injectable()
export class AppointmentsService {
  constructor(
    @InjectFastRepository(Appointment) private readonly appointments: FastRepository<Appointment>,
    private readonly transactions: Transactions,
    closing: AccountClosing,
  ) {
    closing.erases(Appointment);
  }

  list(accountId: string, { status, ...page }: ListAppointmentsQuery): Promise<Page<Appointment>> {
    return this.appointments.page({ accountId, status }, page);
  }

  /** @throws ApiError `pet_not_found` (400) */
  adding(accountId: string, { petId, startsAt, minutes, note }: NewAppointmentDto): Insert<Appointment> {
    return insert(this.appointments, {
      accountId,
      petId,
      startsAt,
      minutes,
      note: note ?? null,
      status: AppointmentStatus.Booked,
    }).refusing(PET_ID_MISSING);
  }

  /** @throws ApiError `appointment_not_found` */
  get(accountId: string, id: string): Promise<Appointment> {
    return this.appointments.getRow({ id, accountId }, 'appointment_not_found');
  }

  /** @throws ApiError `appointment_not_found`, `appointment_final`, `pet_not_found` (400) */
  update(accountId: string, id: string, changes: AppointmentChangeDto): Promise<Appointment> {
    return this.appointments
      .changeRow({ id, accountId }, 'appointment_not_found', (row) => {
        if (row.status !== AppointmentStatus.Booked) throw new ApiError('appointment_final');
        this.appointments.merge(row, changes);
      })
      .catch(PET_ID_MISSING);
  }

  /** @throws ApiError `appointment_not_found` */
  async remove(accountId: string, id: string): Promise<void> {
    const { affected } = await this.transactions.manager.delete(Appointment, { id, accountId });
    if (!affected) throw new ApiError('appointment_not_found');
  }
}
