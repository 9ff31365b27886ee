import { Controller, Get, VERSION_NEUTRAL } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import { DataSource } from 'typeorm';
import { ApiError } from '../common/api-error.js';
import type { HttpServer } from '../common/http-server.js';
import { Public } from '../common/operation.js';

/** What an orchestrator asks: `live` whether the process turns, `ready` whether it can serve. */
@ApiExcludeController()
@Public()
@Controller({ path: 'health', version: VERSION_NEUTRAL })
export class HealthController {
  constructor(
    private readonly database: DataSource,
    private readonly host: HttpAdapterHost<HttpServer>,
  ) {}

  @Get('live')
  live() {
    return { status: 'ok' };
  }

  /** @throws ApiError `service_unavailable` while the service stops; or what the database throws, which is answered alike */
  @Get('ready')
  async ready() {
    if (this.host.httpAdapter.isDraining) throw new ApiError('service_unavailable');
    await this.database.query('SELECT 1');
    return { status: 'ok' };
  }
}
