import type { NextFunction, Request, Response } from 'express';
import { ApiError } from '../common/api-error.js';
import { PROBES } from '../common/probes.js';

/** Answers every request but those of an orchestrator and of Prometheus as one to a route that is not there. */
export function onlyProbes({ path }: Request, _response: Response, next: NextFunction): void {
  if (!PROBES.test(path)) throw new ApiError('route_not_found');
  next();
}
