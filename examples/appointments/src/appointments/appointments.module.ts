import { Feature } from 'petstore/platform';
import { Appointment } from './appointment.entity.js';
import { AppointmentsController } from './appointments.controller.js';
import { AppointmentsService } from './appointments.service.js';
import { DECLARATIONS } from './appointments.declarations.js';
import { Appointments1800000000001 } from './migrations/1800000000001-appointments.js';

@Feature({
  name: 'appointments',
  ...DECLARATIONS,
  tags: { appointments: 'The appointments of your account.' },
  entities: [Appointment],
  migrations: [Appointments1800000000001],
  controllers: [AppointmentsController],
  providers: [AppointmentsService],
})
export class AppointmentsModule {}
