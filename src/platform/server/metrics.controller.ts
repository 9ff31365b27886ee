import { Controller, Get, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiError, Public } from '../api/index.js';
import { Metrics } from '../telemetry/index.js';

/** The metrics, if they have no port of their own. */
@ApiExcludeController()
@Public()
@Controller({ path: 'metrics', version: VERSION_NEUTRAL })
export class MetricsController {
  constructor(private readonly metrics: Metrics) {}

  @Get()
  async get(@Res() response: Response): Promise<void> {
    const text = await this.metrics.text().catch((cause: unknown) => {
      throw new ApiError('service_unavailable', undefined, { cause });
    });
    response.setHeader('Content-Type', this.metrics.contentType);
    response.end(text);
  }
}
