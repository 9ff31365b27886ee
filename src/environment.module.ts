import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Config } from './config.js';
import { StartBlock } from './platform/process/index.js';

/** Provides the configuration and the start block to every module. */
@Global()
@Module({})
export class EnvironmentModule {
  static with(config: Config): DynamicModule {
    return {
      module: EnvironmentModule,
      providers: [{ provide: Config, useValue: config }, StartBlock],
      exports: [Config, StartBlock],
    };
  }
}
