import type { NextFunction, Request, Response } from 'express';
import { ApiError } from './api-error.js';

/** Answers every request but an orchestrator's as one to a route that is not there. */
export function onlyHealth({ path }: Request, _response: Response, next: NextFunction): void {
  if (!path.startsWith('/health/')) throw new ApiError('route_not_found');
  next();
}
