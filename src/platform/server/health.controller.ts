import { Controller, Get, VERSION_NEUTRAL } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import { ApiError, Public } from '../api/index.js';
import { SchemaCheck } from '../database/index.js';
import type { HttpAdapter } from './http-adapter.js';

/** For orchestrators: `live` tells whether the event loop runs, `ready` whether the service can serve. */
@ApiExcludeController()
@Public()
@Controller({ path: 'health', version: VERSION_NEUTRAL })
export class HealthController {
  constructor(
    private readonly schema: SchemaCheck,
    private readonly host: HttpAdapterHost<HttpAdapter>,
  ) {}

  @Get('live')
  live() {
    return { status: 'ok' };
  }

  /**
   * Names the database's host if there are several.
   * @throws ApiError `service_unavailable` while the service stops, or if the database cannot serve it; or what the
   * database throws, which is answered alike
   */
  @Get('ready')
  async ready() {
    if (this.host.httpAdapter.admission.isDraining) throw new ApiError('service_unavailable');
    const problem = await this.schema.findProblem();
    if (problem) throw new ApiError('service_unavailable', undefined, { cause: new Error(problem) });
    return { status: 'ok', database: this.schema.host };
  }
}
