import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  NotFoundException,
  type OnModuleInit,
  Optional,
} from '@nestjs/common';
import { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import type { Request, Response } from 'express';
import { Config } from '../../config.js';
import { ApiError, requireSound, type RoutedRequest } from '../api/index.js';
import { logFailure, nameError, toApiError, writeError } from './errors.js';
import { Exchange } from './exchange.js';
import type { HttpAdapter } from './server.js';
import { failStream } from './streams.js';

/** What a person sees in place of the Error of an unknown address, where the service has pages for people. */
export abstract class NotFoundPage {
  /** Whether the request comes from a browser that would show a page. */
  abstract isFor(request: Request): boolean;

  /** Answers with the page. */
  abstract send(request: Request, response: Response): void;
}

/** Answers every failure that Nest catches. */
@Catch()
export class ErrorFilter implements ExceptionFilter, OnModuleInit {
  constructor(
    private readonly modules: ModulesContainer,
    private readonly host: HttpAdapterHost<HttpAdapter>,
    private readonly config: Config,
    @Optional() private readonly page?: NotFoundPage,
  ) {}

  /** @throws Error for what operations declare and nobody knows or allows */
  onModuleInit(): void {
    requireSound(this.modules, this.config.OPERATION_MAX_SECONDS);
  }

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request & Partial<RoutedRequest>>();
    const response = http.getResponse<Response>();
    // Answered when its time was over: setting a header after that fails.
    if (Exchange.of(response)?.isOver) return;
    if (response.headersSent) return failStream(response, exception);
    // A `NotFoundException` from an operation is that operation's 404.
    if (exception instanceof NotFoundException && !request.operation) return this.miss(request, response);
    const error = toApiError(exception);
    if (error.status === 405) error.headers.Allow ??= this.allowed(request);
    logFailure(error, response);
    writeError(response, error);
  }

  /** No handler took the request: its address is unknown, or known only with other methods. */
  private miss(request: Request, response: Response): void {
    const { method } = request;
    const allow = this.allowed(request);
    const isKnown = allow !== '' && (method === 'OPTIONS' || !allow.split(', ').includes(method));
    // RFC 9110, 9.3.7: OPTIONS asks what a resource can do.
    if (isKnown && method === 'OPTIONS') response.status(204).set('Allow', allow).end();
    else if (isKnown)
      writeError(response, new ApiError('method_not_allowed', undefined, { headers: { Allow: allow } }));
    else this.answerUnknown(request, response);
  }

  private answerUnknown(request: Request, response: Response): void {
    const error = new ApiError('route_not_found');
    if (!this.page?.isFor(request)) return writeError(response, error);
    nameError(response, error);
    this.page.send(request, response);
  }

  private allowed(request: Request): string {
    return this.host.httpAdapter.routes.allowed(request).join(', ');
  }
}
