import { Feature } from 'petstore/platform';
import { Appointment } from './appointment.entity.js';
import { AppointmentsController } from './appointments.controller.js';
import { AppointmentsService } from './appointments.service.js';
import { ERRORS } from './appointments.errors.js';
import { PERMISSIONS } from './appointments.permissions.js';
import { Appointments1800000000001 } from './migrations/1800000000001-appointments.js';

@Feature({
  name: 'appointments',
  tags: { appointments: 'The appointments of your account.' },
  entities: [Appointment],
  migrations: [Appointments1800000000001],
  permissions: PERMISSIONS,
  errors: ERRORS,
  controllers: [AppointmentsController],
  providers: [AppointmentsService],
})
export class AppointmentsModule {}
