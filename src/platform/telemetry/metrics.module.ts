import { Global, Module } from '@nestjs/common';
import { Metrics } from './metrics.js';

/** Provides `Metrics` to every module, for metrics of its own. */
@Global()
@Module({ providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}
