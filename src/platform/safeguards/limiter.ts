import { Global, Inject, Logger, Module, type OnApplicationShutdown, Optional } from '@nestjs/common';
import type { Response } from 'express';
import type { Redis } from 'ioredis';
import cluster from 'node:cluster';
import { createHash } from 'node:crypto';
import {
  type RateLimiterAbstract,
  RateLimiterCluster,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
  RLWrapperTimeouts,
} from 'rate-limiter-flexible';
import { Config } from '../../config.js';
import { ApiError } from '../api/index.js';
import { ThrottledWarning } from '../telemetry/index.js';

const WINDOW_SECONDS = 60;
/** Milliseconds to wait for Redis or the primary before counting locally: a limit must not block requests. */
const ANSWER_MS = 250;

/**
 * Counts the requests of a subject (an address, an account, a key) per minute. Processes share the counts
 * through Redis, else through the cluster's primary; if that does not answer, each process counts locally.
 */
class Limiter {
  private readonly store?: RateLimiterAbstract;

  /** @param perMinute 0 turns the limit off */
  constructor(
    private readonly name: string,
    private readonly perMinute: number,
    redis?: Redis,
  ) {
    if (!this.isOn) return;
    const options = { keyPrefix: `petstore:${name}`, points: perMinute, duration: WINDOW_SECONDS };
    const insuranceLimiter = new RateLimiterMemory(options);
    const timeoutMs = ANSWER_MS;
    if (redis) this.store = new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter });
    else if (cluster.isWorker) {
      const limiter = new RateLimiterCluster({ ...options, timeoutMs });
      this.store = new RLWrapperTimeouts({ limiter, timeoutMs, insuranceLimiter });
    } else this.store = insuranceLimiter;
  }

  get isOn(): boolean {
    return this.perMinute > 0;
  }

  /**
   * Counts a request for each subject in turn, and sets the `RateLimit` headers (draft-ietf-httpapi-ratelimit-headers). A
   * refused subject stops the count: a refused address can neither use up the limit of an account nor fill the memory with
   * accounts.
   * @throws ApiError `rate_limited` if a subject is over its limit
   */
  async consume(subjects: string[], response: Response): Promise<void> {
    if (!this.store) return;
    let most = -1;
    for (const subject of subjects) {
      const state = await tryConsume(this.store, subject);
      if (state.consumedPoints > this.perMinute) this.refuse(state, response);
      if (state.consumedPoints > most) this.setHeaders(state, response);
      most = Math.max(most, state.consumedPoints);
    }
  }

  private refuse(state: RateLimiterRes, response: Response): never {
    const seconds = this.setHeaders(state, response);
    throw new ApiError('rate_limited', undefined, { headers: { 'Retry-After': String(seconds) } });
  }

  /** Sets the headers; returns the seconds until the count resets. */
  private setHeaders({ consumedPoints, msBeforeNext }: RateLimiterRes, response: Response): number {
    const left = Math.max(0, this.perMinute - consumedPoints);
    const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
    response.setHeader('RateLimit-Policy', `"${this.name}";q=${this.perMinute};w=${WINDOW_SECONDS}`);
    response.setHeader('RateLimit', `"${this.name}";r=${left};t=${seconds}`);
    return seconds;
  }

  /** Checks, without counting, that a subject is below its limit. @throws ApiError `rate_limited` */
  async check(subject: string, response: Response): Promise<void> {
    const state = await this.store?.get(hashed(subject));
    if (state && state.consumedPoints >= this.perMinute) this.refuse(state, response);
  }
}

/** Counts a request. Returns the state even over the limit, where the store throws the state. */
async function tryConsume(store: RateLimiterAbstract, subject: string): Promise<RateLimiterRes> {
  try {
    return await store.consume(hashed(subject));
  } catch (error) {
    if (error instanceof RateLimiterRes) return error;
    throw error;
  }
}

/** Others may read the store, so it holds no plain-text addresses or emails. */
function hashed(subject: string): string {
  return createHash('sha256').update(subject).digest('base64url');
}

/** Limits sign-ups, changes of the email and failed log-ins, per address and per account. */
export class AuthLimiter extends Limiter {}

/** Limits requests per API key. */
export class KeyLimiter extends Limiter {}

/** Connects to Redis in the background and retries for ever. */
async function connect(url: string): Promise<Redis> {
  // Loaded only if needed: the client takes 24 MB of memory, and most services have no Redis.
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    commandTimeout: ANSWER_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
  });
  const away = new ThrottledWarning(new Logger('Redis'), 'Redis is away; each process counts locally');
  return redis.on('error', ({ message }: Error) => away.add(message));
}

const REDIS = Symbol('redis');

/** The limits of the configuration, counted in Redis if there is one. */
@Global()
@Module({
  providers: [
    {
      provide: REDIS,
      inject: [Config],
      useFactory: ({ REDIS_URL }: Config) => REDIS_URL && connect(REDIS_URL),
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
