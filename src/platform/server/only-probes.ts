import type { NextFunction, Request, Response } from 'express';
import { ApiError } from '../api/api-error.js';
import { PROBES } from '../telemetry/probes.js';

/** Answers every request except those of an orchestrator and of Prometheus as if its route did not exist. */
export function onlyProbes({ path }: Request, _response: Response, next: NextFunction): void {
  if (!PROBES.test(path)) throw new ApiError('route_not_found');
  next();
}
