import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';

/** Milliseconds after which a count is made without Redis: a limit must not cost more than what it protects. */
const COMMAND_TIMEOUT_MS = 250;

/** Connects in the background, again and again, and says once when Redis goes and when it comes. */
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
    if (!isAway) logger.warn(`Redis is away, each process counts for itself: ${error.message}`);
    isAway = true;
  });
  redis.on('ready', () => {
    if (isAway) logger.warn('Redis is back.');
    isAway = false;
  });
  return redis;
}
