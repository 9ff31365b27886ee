import type { Request } from 'express';
import { clientNetwork } from '../platform/api/index.js';
import { normalEmail } from './email.js';

/** The subjects that a sign-up or log-in counts for: its address, then its account, if an account can have that email. */
export function limitSubjects(
  what: 'sign-up' | 'log-in',
  request: Request,
  email: string,
): [address: string, ...account: string[]] {
  const from = `${what} from ${clientNetwork(request)}`;
  const normal = normalEmail(email);
  return normal === null ? [from] : [from, `${what} as ${normal}`];
}
