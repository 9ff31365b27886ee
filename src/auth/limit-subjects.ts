import type { Request } from 'express';
import { clientNetwork } from '../platform/api/client-network.js';

/** What sign-ups and log-ins are counted by: the address they come from, then the account they are for. */
export function limitSubjects(what: 'sign-up' | 'log-in', request: Request, email: string): string[] {
  return [`${what} from ${clientNetwork(request)}`, `${what} as ${email.toLowerCase()}`];
}
