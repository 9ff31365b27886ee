import { Global, Module } from '@nestjs/common';
import { Metrics } from './metrics.js';

/** Gives every module `Metrics`, for figures of its own. */
@Global()
@Module({ providers: [Metrics], exports: [Metrics] })
export class MetricsModule {}
