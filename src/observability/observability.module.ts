import { type DynamicModule, Global, Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import type { Config } from '../config.js';
import { LOG, type Log } from './log.js';
import { MetricsController } from './metrics.controller.js';
import { MetricsServer } from './metrics-server.js';
import { Metrics } from './metrics.js';
import { RefusalCounts } from './refusal-counts.js';
import { RequestRecorder } from './request-recorder.js';
import { Routes } from './routes.js';

/** Counts and logs requests, and gives every module `Metrics` for figures of its own. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [Metrics, MetricsServer, RefusalCounts, RequestRecorder, Routes],
  exports: [Metrics],
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
