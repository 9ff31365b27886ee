import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';

/** Milliseconds to wait for Redis before counting locally: a limit must not cost more than what it protects. */
const COMMAND_TIMEOUT_MS = 250;

/** Connects in the background, retrying for ever, and logs once when Redis goes away and once when it is back. */
export function connectRedis(url: string): Redis {
  const logger = new Logger('Redis');
  const redis = new Redis(url, {
    commandTimeout: COMMAND_TIMEOUT_MS,
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
