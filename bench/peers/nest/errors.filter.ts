import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException } from '@nestjs/common';
import type { Response } from 'express';
import { ApiError } from '../../../src/platform/api/api-error.js';
import { toApiError } from '../shared.js';

@Catch()
export class ErrorsFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const error = exception instanceof HttpException ? fromNest(exception) : toApiError(exception);
    const response = host.switchToHttp().getResponse<Response>();
    response.status(error.status).set(error.headers).json(error);
  }
}

/** Failures from Nest itself: a body that is not JSON, one that is too large, a route that does not exist. */
function fromNest(exception: HttpException): ApiError {
  const codes = { 400: 'invalid_json', 413: 'payload_too_large', 404: 'route_not_found' } as const;
  return new ApiError(codes[exception.getStatus() as keyof typeof codes] ?? 'internal_error');
}
