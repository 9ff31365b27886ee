import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Config } from './config.js';
import { Clock, StartBlock } from './platform/process/index.js';

/** Provides the configuration, the clock and the start block to every module. */
@Global()
@Module({})
export class EnvironmentModule {
  static with(config: Config, clock = new Clock()): DynamicModule {
    return {
      module: EnvironmentModule,
      providers: [{ provide: Config, useValue: config }, { provide: Clock, useValue: clock }, StartBlock],
      exports: [Config, Clock, StartBlock],
    };
  }
}
