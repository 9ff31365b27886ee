import { type ArgumentsHost, Catch, type ExceptionFilter, NotFoundException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { ApiError, type RoutedRequest } from '../api/index.js';
import { toApiError } from './errors.js';
import { Exchange } from './exchange.js';
import type { HttpAdapter } from './server.js';
import { failStream } from './streams.js';

/** Answers every failure that Nest catches. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly host: HttpAdapterHost<HttpAdapter>) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request & Partial<RoutedRequest>>();
    const response = http.getResponse<Response>();
    // Answered at the deadline: setting a header would throw.
    if (Exchange.of(response)?.isOver) return;
    if (response.headersSent) return failStream(response, exception);
    // A `NotFoundException` from an operation is that operation's 404, any other that of an unknown address.
    const isUnknown = exception instanceof NotFoundException && !request.operation;
    this.host.httpAdapter.fail(response, isUnknown ? new ApiError('route_not_found') : toApiError(exception));
  }
}
