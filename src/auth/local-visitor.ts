import { BlockList, isIPv6 } from 'node:net';
import type { Request } from 'express';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

const LOCAL_HOST = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i;
const OF_PROXIES = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/**
 * Whether a request comes from this machine, past no proxy, and not from a page of another origin. The Host must be
 * this machine's too: a page elsewhere can make its own name lead here (DNS rebinding), and is then of that origin.
 */
export function isLocalVisitor({ headers, socket }: Request): boolean {
  const { remoteAddress = '' } = socket;
  return (
    LOOPBACK.check(remoteAddress, isIPv6(remoteAddress) ? 'ipv6' : 'ipv4') &&
    LOCAL_HOST.test(headers.host ?? '') &&
    // A browser leaves it out of a same-origin GET, and sends it with every other that could read the answer.
    headers.origin === undefined &&
    (headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin' &&
    !OF_PROXIES.some((name) => name in headers)
  );
}
