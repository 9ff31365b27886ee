import { Controller, Get, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { Public } from '../common/operation.js';

/** What an orchestrator asks: `live` whether the process turns, `ready` whether it can serve. */
@ApiExcludeController()
@Public()
@Controller({ path: 'health', version: VERSION_NEUTRAL })
export class HealthController {
  constructor(private readonly database: DataSource) {}

  @Get('live')
  live() {
    return { status: 'ok' };
  }

  /** @throws what the database throws, which is answered 503 `service_unavailable` */
  @Get('ready')
  async ready() {
    await this.database.query('SELECT 1');
    return { status: 'ok' };
  }
}
