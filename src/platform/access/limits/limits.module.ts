import { Global, Inject, Module, type OnApplicationShutdown, Optional } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { Config } from '../../../config.js';
import { AuthLimiter, KeyLimiter } from './limiters.js';

const REDIS = Symbol('redis');

/** The limits that the operator sets, counted in Redis if there is one. */
@Global()
@Module({
  providers: [
    {
      provide: REDIS,
      inject: [Config],
      // The client takes 24 MB, and most services have no Redis.
      useFactory: async ({ REDIS_URL }: Config) =>
        REDIS_URL && (await import('./redis.js')).connectRedis(REDIS_URL),
    },
    {
      provide: AuthLimiter,
      inject: [Config, REDIS],
      useFactory: (config: Config, redis?: Redis) =>
        new AuthLimiter('auth', config.AUTH_LIMIT_PER_MINUTE, redis),
    },
    {
      provide: KeyLimiter,
      inject: [Config, REDIS],
      useFactory: (config: Config, redis?: Redis) =>
        new KeyLimiter('key', config.KEY_LIMIT_PER_MINUTE, redis),
    },
  ],
  exports: [AuthLimiter, KeyLimiter],
})
export class LimitsModule implements OnApplicationShutdown {
  constructor(@Optional() @Inject(REDIS) private readonly redis?: Redis) {}

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }
}
