import type { Request } from 'express';

const IPV6_NETWORK = /^(?:[\da-f]+:){4}/i;

/** What sign-ups and log-ins are counted by: the address they come from, and the account they are for. */
export function limitSubjects(what: 'sign-up' | 'log-in', { ip = '' }: Request, email: string): string[] {
  // Who has one IPv6 address has all of its /64 network.
  const network = IPV6_NETWORK.exec(ip)?.[0] ?? ip;
  return [`${what} from ${network}`, `${what} as ${email.toLowerCase()}`];
}
