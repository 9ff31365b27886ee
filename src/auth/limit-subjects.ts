import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/** What sign-ups and log-ins are counted by: the address they come from, and the account they are for. */
export function limitSubjects(what: 'sign-up' | 'log-in', { ip = '' }: Request, email: string): string[] {
  return [`${what} from ${networkOf(ip)}`, `${what} as ${email.toLowerCase()}`];
}

/** Whoever has one IPv6 address has its whole /64 network (RFC 4291, 2.5.4). */
function networkOf(ip: string): string {
  if (!ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address.toString();
}
