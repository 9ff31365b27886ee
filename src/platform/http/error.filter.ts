import { type ArgumentsHost, Catch, type ExceptionFilter, NotFoundException } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { Request, Response } from 'express';
import { ApiError, type RoutedRequest } from '../api/index.js';
import { nameError, toApiError, writeError } from './errors.js';
import { Exchange } from './exchange.js';
import type { HttpAdapter } from './server.js';
import { failStream } from './streams.js';

/** The page that browsers get for an unknown address. */
export abstract class NotFoundPage {
  /** Whether a browser that shows pages has sent the request. */
  abstract isFor(request: Request): boolean;

  abstract send(request: Request, response: Response): void;
}

/** Answers every failure that Nest catches. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(
    private readonly host: HttpAdapterHost<HttpAdapter>,
    private readonly page: NotFoundPage,
  ) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request & Partial<RoutedRequest>>();
    const response = http.getResponse<Response>();
    // Answered at the deadline: setting a header would throw.
    if (Exchange.of(response)?.isOver) return;
    if (response.headersSent) return failStream(response, exception);
    // A `NotFoundException` from an operation is that operation's 404.
    if (exception instanceof NotFoundException && !request.operation) return this.miss(request, response);
    this.host.httpAdapter.fail(response, toApiError(exception));
  }

  /** Answers a request for an unknown address. */
  private miss(request: Request, response: Response): void {
    const error = new ApiError('route_not_found');
    if (!this.page.isFor(request)) return writeError(response, error);
    nameError(response, error);
    this.page.send(request, response);
  }
}
