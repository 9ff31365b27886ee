import { type DynamicModule, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { Config } from '../../config.js';
import { LOG, type Log } from '../telemetry/log.js';
import { MetricsController } from './metrics.controller.js';
import { MetricsServer } from './metrics-server.js';
import { MetricsModule } from '../telemetry/metrics.module.js';
import { RefusalCounts } from './refusal-counts.js';
import { RequestRecorder } from './request-recorder.js';
import { RouteNames } from './route-names.js';

/** Counts and logs requests, and serves the metrics. */
@Module({
  imports: [DiscoveryModule, MetricsModule],
  providers: [MetricsServer, RefusalCounts, RequestRecorder, RouteNames],
})
export class ObservabilityModule {
  static with({ METRICS_PORT }: Config, log: Log): DynamicModule {
    return {
      module: ObservabilityModule,
      controllers: METRICS_PORT === undefined ? [MetricsController] : [],
      providers: [{ provide: LOG, useValue: log }],
    };
  }
}
