import { STATUS_CODES } from 'node:http';
import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Logger,
  NotFoundException,
  type OnModuleInit,
  Optional,
} from '@nestjs/common';
import { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import type { Request, Response } from 'express';
import { Config } from '../../config.js';
import { ApiError, type ErrorCode, requestIdOf, requireSound, type RoutedRequest } from '../api/index.js';
import { codeOf, isUnavailable } from '../database/index.js';
import type { HttpAdapter } from './http-adapter.js';
import { nameError, writeError } from './refusals.js';
import { failStream } from './streams.js';

/** What a person sees in place of the Error of an unknown address, where the service has pages for people. */
export abstract class NotFoundPage {
  /** Whether the request comes from a browser that would show a page. */
  abstract isFor(request: Request): boolean;

  /** Answers with the page. */
  abstract send(request: Request, response: Response): void;
}

/** Answers every failure inside a request. Those before Express are answered in `refusals.ts`. */
@Catch()
export class ErrorFilter implements ExceptionFilter, OnModuleInit {
  private readonly logger = new Logger(ErrorFilter.name);

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
    // Of what an operation throws, not found means what it says.
    if (exception instanceof NotFoundException && !request.operation) {
      const methods = this.host.httpAdapter.routes.allowed(request);
      if (!answerOtherMethod(methods, request, response))
        this.answer(new ApiError('route_not_found'), request, response);
      return;
    }
    // Answered already, when its time was over; setting a header after that fails.
    if (response.writableEnded) return;
    if (response.headersSent) return failStream(response, exception);
    const error = toApiError(exception);
    if (error.status >= 500) this.report(error, response);
    this.answer(error, request, response);
  }

  private answer(error: ApiError, request: Request, response: Response): void {
    if (error.code !== 'route_not_found' || !this.page?.isFor(request)) return writeError(response, error);
    nameError(response, error);
    this.page.send(request, response);
  }

  private report(error: ApiError, response: Response): void {
    const cause = error.cause instanceof Error ? error.cause : error;
    const msg = `${error.code}: ${cause.name}: ${loggable(cause)}`;
    const line = { requestId: requestIdOf(response), msg };
    if (error.status === 500)
      this.logger.error(line, cause.stack?.slice(cause.stack.indexOf('\n    at ') + 1));
    else this.logger.warn(line);
  }
}

/** The message of an error, except PostgreSQL's on data (SQLSTATE class 22): they repeat the value that was sent. */
function loggable(cause: Error): string {
  const code = codeOf(cause) ?? '';
  return /^22\w{3}$/.test(code) ? `SQLSTATE ${code}` : cause.message;
}

/** Any thrown value as the failure that is sent to the client. */
function toApiError(exception: unknown): ApiError {
  if (exception instanceof ApiError) return exception;
  if (exception instanceof HttpException) return fromNest(exception);
  const code = isUnavailable(exception) ? 'service_unavailable' : 'internal_error';
  return new ApiError(code, undefined, { cause: exception });
}

/** Statuses from 500 on that say "later", or that of another server: the client is told to come back. */
const LATER = new Set([502, 503, 504]);

/**
 * An exception of Nest's, which a team may throw as Nest documents: its status and its message are for the client. Up to
 * 499, its code is what HTTP calls its status. A 500 says nothing outside, nor does what is no status of an error.
 */
function fromNest(exception: HttpException): ApiError {
  const status: unknown = exception.getStatus();
  const { cause = exception } = exception;
  if (!isErrorStatus(status) || status === 500) return new ApiError('internal_error', undefined, { cause });
  const message = messageOf(exception);
  if (status > 500) {
    const code = LATER.has(status) ? 'service_unavailable' : 'internal_error';
    return new ApiError(code, message, { status, cause });
  }
  const phrase = STATUS_CODES[status] ?? 'Bad Request';
  const code = phrase.toLowerCase().replace(/\W+/g, '_') as ErrorCode;
  return new ApiError(code, message, { status, cause });
}

function isErrorStatus(status: unknown): status is number {
  return Number.isInteger(status) && Number(status) >= 300 && Number(status) < 600;
}

/** Nest's own message, or the list of them that its ValidationPipe gives. */
function messageOf(exception: HttpException): string {
  const { message } = Object(exception.getResponse()) as { message?: unknown };
  return Array.isArray(message) ? message.join('; ') : exception.message;
}

/** Whether no handler took the request because its path is known only with other methods; it is then answered. */
function answerOtherMethod(methods: string[], request: Request, response: Response): boolean {
  const isOptions = request.method === 'OPTIONS';
  if (methods.length === 0 || (methods.includes(request.method) && !isOptions)) return false;
  const headers = { Allow: methods.join(', ') };
  // RFC 9110, 9.3.7: OPTIONS asks what a resource can do.
  if (isOptions) response.status(204).set(headers).end();
  else writeError(response, new ApiError('method_not_allowed', undefined, { headers }));
  return true;
}
