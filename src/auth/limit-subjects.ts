import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import { normalEmail } from './email.js';
import type { Requester } from './fair-queue.js';

/**
 * What sign-ups and log-ins are counted by: the address they come from, then the account they are for, if an account
 * can have that email.
 */
export function limitSubjects(
  what: 'sign-up' | 'log-in',
  { ip = '' }: Request,
  email: string,
): [address: string, ...account: string[]] {
  const from = `${what} from ${networkOf(ip)}`;
  const normal = normalEmail(email);
  return normal === null ? [from] : [from, `${what} as ${normal}`];
}

/** Whoever sends a request. Those of one address wait for each other. */
export function requesterOf({ ip = '', socket }: Request): Requester {
  return { lane: networkOf(ip), isGone: () => socket.destroyed };
}

/** Whoever has one IPv6 address has its whole /64 network (RFC 4291, 2.5.4). */
function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString();
}
