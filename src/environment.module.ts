import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Config } from './config.js';
import { Clock, IdentityProvider, StartBlock } from './platform/process/index.js';

/** Provides the configuration, the clock, the start block and the identity provider to every module. */
@Global()
@Module({})
export class EnvironmentModule {
  static with(config: Config, clock = new Clock()): DynamicModule {
    return {
      module: EnvironmentModule,
      providers: [
        { provide: Config, useValue: config },
        { provide: Clock, useValue: clock },
        { provide: IdentityProvider, useFactory: () => new IdentityProvider(config.OIDC_ISSUER ?? '') },
        StartBlock,
      ],
      exports: [Config, Clock, IdentityProvider, StartBlock],
    };
  }
}
