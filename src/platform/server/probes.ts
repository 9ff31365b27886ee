import {
  Controller,
  type DynamicModule,
  Get,
  Inject,
  Module,
  type OnApplicationShutdown,
  Res,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiError, Public } from '../api/index.js';
import { SchemaCheck } from '../database/index.js';
import { LOG, type Log, Metrics } from '../telemetry/index.js';
import type { HttpAdapter } from './http-adapter.js';
import { RequestRecorder } from './request-recorder.js';

/** For orchestrators: `live` tells whether the event loop runs, `ready` whether the service can serve. */
@ApiExcludeController()
@Public()
@Controller({ path: 'health', version: VERSION_NEUTRAL })
class HealthController {
  constructor(
    private readonly schema: SchemaCheck,
    private readonly host: HttpAdapterHost<HttpAdapter>,
  ) {}

  @Get('live')
  live() {
    return { status: 'ok' };
  }

  /**
   * Whether the schema of the database can be read and is of this build. Redis is not looked at: without it, each instance
   * counts for itself and goes on serving.
   * @throws ApiError `service_unavailable` while the service stops, or if the database cannot serve it; or what the
   * database throws, which is answered alike
   */
  @Get('ready')
  async ready() {
    if (this.host.httpAdapter.admission.isDraining) throw new ApiError('service_unavailable');
    const problem = await this.schema.findProblem();
    if (problem) throw new ApiError('service_unavailable', undefined, { cause: new Error(problem) });
    return { status: 'ok' };
  }
}

/** The metrics, for Prometheus. */
@ApiExcludeController()
@Public()
@Controller({ path: 'metrics', version: VERSION_NEUTRAL })
class MetricsController {
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

/** Counts and logs requests, and serves what orchestrators and Prometheus ask for. */
@Module({ controllers: [HealthController, MetricsController] })
export class ObservabilityModule implements OnApplicationShutdown {
  private readonly recorder: RequestRecorder;

  constructor({ httpAdapter }: HttpAdapterHost<HttpAdapter>, metrics: Metrics, @Inject(LOG) log: Log) {
    const { admission } = httpAdapter;
    this.recorder = new RequestRecorder(metrics, log, () => admission.overload.requests, admission.streams);
    admission.recorder = this.recorder;
  }

  static with(log: Log): DynamicModule {
    return { module: ObservabilityModule, providers: [{ provide: LOG, useValue: log }] };
  }

  onApplicationShutdown(): void {
    this.recorder.stop();
  }
}
