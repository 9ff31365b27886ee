import type { Request } from 'express';
import { clientNetwork } from '../platform/api/index.js';
import { normalEmail } from './email.js';
import type { Requester } from '../platform/process/index.js';

/**
 * What sign-ups and log-ins are counted by: the address they come from, then the account they are for, if an account
 * can have that email.
 */
export function limitSubjects(
  what: 'sign-up' | 'log-in',
  request: Request,
  email: string,
): [address: string, ...account: string[]] {
  const from = `${what} from ${clientNetwork(request)}`;
  const normal = normalEmail(email);
  return normal === null ? [from] : [from, `${what} as ${normal}`];
}

/** Who sends the password of a request. */
export function requesterOf(request: Request): Requester {
  return { caller: clientNetwork(request), isGone: () => request.socket.destroyed };
}
