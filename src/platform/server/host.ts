import type { NextFunction, Request, Response } from 'express';
import { ApiError, timesSent } from '../api/index.js';

/** RFC 9110, 7.2: a name or an address in brackets, and a port. */
const HOST = /^(?:[\w.~!$&'()*+,;=%-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/** The last valid one, which nearly every request names again: parsing it takes 1 µs. */
let usual = '';

/**
 * Refuses a request without one valid `Host` header. It comes first, so that nothing is done for a request whose answer
 * could not name an address: `Location` and `Link` begin with the host.
 */
export function requireHost(request: Request, _response: Response, next: NextFunction): void {
  const { host } = request.headers;
  if (request.httpVersion === '1.1' && (!host || timesSent(request, 'host') > 1)) {
    throw new ApiError('bad_request', 'The request needs one Host header.');
  }
  if (host && !isHost(host)) throw new ApiError('bad_request', 'The Host header is not valid.');
  next();
}

function isHost(value: string): boolean {
  if (value === usual) return true;
  if (!HOST.test(value) || !URL.canParse(`http://${value}`)) return false;
  usual = value;
  return true;
}
