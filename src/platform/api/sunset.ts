import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  mixin,
  type Type,
  UseGuards,
} from '@nestjs/common';
import type { Response } from 'express';
import { Clock } from '../process/index.js';
import { ApiError } from './api-error.js';
import { Declare } from './operation-facts.js';

interface SunsetOptions {
  /** Day since which the operation is deprecated, as YYYY-MM-DD (UTC). */
  deprecated: string;
  /** Day from which it is gone, as YYYY-MM-DD (UTC). */
  sunset: string;
  /** Path of the operation to use instead. */
  successor: string;
}

/**
 * Deprecates an operation and ends it automatically. Until the sunset, its answers carry the headers `Deprecation` (RFC
 * 9745), `Sunset` (RFC 8594) and `Link` to the successor; from then on it answers 410 `operation_removed`.
 */
export function Sunset(options: SunsetOptions): MethodDecorator {
  return applyDecorators(UseGuards(sunsetGuard(options)), Declare({ sunset: options.sunset }));
}

function sunsetGuard({ deprecated, sunset, successor }: SunsetOptions): Type<CanActivate> {
  const end = Date.parse(sunset);
  const headers = [
    ['Deprecation', `@${Date.parse(deprecated) / 1000}`],
    ['Sunset', new Date(end).toUTCString()],
    ['Link', `<${successor}>; rel="successor-version"`],
  ] as const;

  @Injectable()
  class SunsetGuard implements CanActivate {
    constructor(private readonly clock: Clock) {}

    canActivate(context: ExecutionContext): boolean {
      const response = context.switchToHttp().getResponse<Response>();
      for (const [name, value] of headers) response.setHeader(name, value);
      if (this.clock.now() < end) return true;
      throw new ApiError(
        'operation_removed',
        `The operation was removed on ${sunset}. Use ${successor} instead.`,
      );
    }
  }
  return mixin(SunsetGuard);
}
