import { Module } from '@nestjs/common';
import { DataModule } from '../platform/data/data.module.js';
import { Appointment } from './appointment.entity.js';
import { AppointmentsController } from './appointments.controller.js';
import { AppointmentsService } from './appointments.service.js';
import './appointments.errors.js';

@Module({
  imports: [DataModule.forFeature([Appointment])],
  controllers: [AppointmentsController],
  providers: [AppointmentsService],
})
export class AppointmentsModule {}
