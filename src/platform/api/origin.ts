import ipaddr from 'ipaddr.js';
import type { Request } from 'express';
import { parseAddress } from './client-network.js';

/** The last one, which nearly every request has again, and what it was made of: parsing it takes longer than the rest. */
let usual = { address: '', origin: '' };

/**
 * The scheme, host and port that a request was sent to, as far as they are known: any request has them, whatever its
 * headers say. What a proxy claims to be a scheme and is none counts for nothing; so does an absent `Host`, which HTTP/1.0
 * allows. `findHostProblem` has refused an invalid one.
 */
export function originOf(request: Request): string {
  const { protocol, socket, headers } = request;
  const scheme = /^https?$/i.test(protocol) ? protocol : 'http';
  const address = `${scheme}://${headers.host || listenerOf(socket)}`;
  if (usual.address !== address) usual = { address, origin: new URL(address).origin };
  return usual.origin;
}

/** RFC 3986, 3.2.2: an IPv6 address stands in brackets. */
function listenerOf({ localAddress, localPort = 80 }: Request['socket']): string {
  const address = parseAddress(localAddress);
  if (!(address instanceof ipaddr.IPv6)) return `${address?.toString() ?? 'localhost'}:${localPort}`;
  return `[${address.toNormalizedString()}]:${localPort}`;
}
