import { type DynamicModule, Module } from '@nestjs/common';
import type { Config } from '../../config.js';
import { LOG, type Log } from '../telemetry/index.js';
import { MetricsServer } from './metrics-server.js';
import { MetricsController } from './metrics.controller.js';
import { RefusalCounts } from './refusal-counts.js';
import { RequestRecorder } from './request-recorder.js';

/** Counts and logs requests, and serves the metrics. */
@Module({ providers: [MetricsServer, RefusalCounts, RequestRecorder] })
export class ObservabilityModule {
  static with({ METRICS_PORT }: Config, log: Log): DynamicModule {
    return {
      module: ObservabilityModule,
      controllers: METRICS_PORT === undefined ? [MetricsController] : [],
      providers: [{ provide: LOG, useValue: log }],
    };
  }
}
