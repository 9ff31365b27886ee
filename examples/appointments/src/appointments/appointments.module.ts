import { Module } from '@nestjs/common';
import { DataModule } from 'petstore/platform';
import { Appointment } from './appointment.entity.js';
import { AppointmentsController } from './appointments.controller.js';
import { AppointmentsService } from './appointments.service.js';
import './appointments.errors.js';
import './appointments.permissions.js';

@Module({
  imports: [DataModule.forFeature([Appointment])],
  controllers: [AppointmentsController],
  providers: [AppointmentsService],
})
export class AppointmentsModule {}
