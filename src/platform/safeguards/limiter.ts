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
} from 'rate-limiter-flexible';
import { Config } from '../../config.js';
import { ApiError } from '../api/index.js';

const WINDOW_SECONDS = 60;
/** Milliseconds to wait for the primary, or for Redis, before counting locally: a limit must not cost more than what it protects. */
const ANSWER_MS = 250;

/**
 * Counts what a subject (an address, an account, a key) does within a minute. The counts are shared through Redis, or
 * else among the workers of one service; while they cannot be reached, each process counts by itself.
 */
class Limiter {
  private readonly counts?: RateLimiterAbstract;
  /** Counts while the shared counts cannot be reached. */
  private readonly own?: RateLimiterMemory;

  /** @param perMinute 0 turns the limit off */
  constructor(
    private readonly name: string,
    private readonly perMinute: number,
    redis?: Redis,
  ) {
    if (perMinute === 0) return;
    const options = { keyPrefix: `petstore:${name}`, points: perMinute, duration: WINDOW_SECONDS };
    this.own = new RateLimiterMemory(options);
    this.counts = this.own;
    if (redis) this.counts = new RateLimiterRedis({ ...options, storeClient: redis });
    else if (cluster.isWorker) this.counts = new RateLimiterCluster({ ...options, timeoutMs: ANSWER_MS });
  }

  get isOn(): boolean {
    return this.counts !== undefined;
  }

  /**
   * Counts one more for each subject in turn, and sets the `RateLimit` headers (draft-ietf-httpapi-ratelimit-headers).
   * Whoever has none left adds nothing to the counts of the subjects behind it: an address that is refused can neither
   * use up what an account may do, nor fill the memory with accounts.
   * @throws ApiError `rate_limited` if a subject had none left
   */
  async take(subjects: string[], response: Response): Promise<void> {
    if (!this.isOn) return;
    let most = -1;
    for (const subject of subjects) {
      const state = await this.ask((counts) => consume(counts, subject));
      if (state.consumedPoints > this.perMinute) this.refuse(state, response);
      if (state.consumedPoints > most) this.tell(state, response);
      most = Math.max(most, state.consumedPoints);
    }
  }

  private async ask<Answer>(question: (counts: RateLimiterAbstract) => Promise<Answer>): Promise<Answer> {
    try {
      return await question(this.counts!);
    } catch {
      return question(this.own!);
    }
  }

  private refuse(state: RateLimiterRes, response: Response): never {
    const seconds = this.tell(state, response);
    throw new ApiError('rate_limited', undefined, { headers: { 'Retry-After': String(seconds) } });
  }

  /** Sets the headers; returns the seconds until the count resets. */
  private tell({ consumedPoints, msBeforeNext }: RateLimiterRes, response: Response): number {
    const left = Math.max(0, this.perMinute - consumedPoints);
    const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
    response.setHeader('RateLimit-Policy', `"${this.name}";q=${this.perMinute};w=${WINDOW_SECONDS}`);
    response.setHeader('RateLimit', `"${this.name}";r=${left};t=${seconds}`);
    return seconds;
  }

  /**
   * Checks, without counting, that a subject has not used up its requests.
   * @throws ApiError `rate_limited`
   */
  async check(subject: string, response: Response): Promise<void> {
    if (!this.isOn) return;
    const state = await this.ask((counts) => counts.get(hashed(subject)));
    if (state && state.consumedPoints >= this.perMinute) this.refuse(state, response);
  }
}

/** Counts; exceeding the limit is a state like any other here, not an error. */
async function consume(counts: RateLimiterAbstract, subject: string): Promise<RateLimiterRes> {
  try {
    return await counts.consume(hashed(subject));
  } catch (error) {
    if (error instanceof RateLimiterRes) return error;
    throw error;
  }
}

/** Addresses and emails must not be readable in a store that others read. */
function hashed(subject: string): string {
  return createHash('sha256').update(subject).digest('base64url');
}

/** Sign-ups, changes of the email and failed log-ins, per address and per account. */
export class AuthLimiter extends Limiter {}

/** Requests per API key. */
export class KeyLimiter extends Limiter {}

/** Connects in the background, retrying for ever, and logs once when Redis goes away and once when it is back. */
async function connect(url: string): Promise<Redis> {
  // The client takes 24 MB, and most services have no Redis.
  const { Redis } = await import('ioredis');
  const logger = new Logger('Redis');
  const redis = new Redis(url, {
    commandTimeout: ANSWER_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
  });
  let isAway = false;
  redis.on('error', (error: Error) => {
    if (!isAway) logger.warn(`Redis is away; each process counts for itself: ${error.message}`);
    isAway = true;
  });
  redis.on('ready', () => {
    if (isAway) logger.warn('Redis is back');
    isAway = false;
  });
  return redis;
}

const REDIS = Symbol('redis');

/** The limits that the operator sets, counted in Redis if there is one. */
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
