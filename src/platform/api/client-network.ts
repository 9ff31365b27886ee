import { isIP, SocketAddress } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/** An IP address, IPv4 never within IPv6, without the zone that it had. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address with a port, or in brackets, as some proxies write them; `SocketAddress.parse` would take far more. */
const ENDPOINT = /^(?:\[[\da-f:.]+\]|\d+(?:\.\d+){3})(?::\d+)?$/i;

/** The zone of an address (RFC 4007, 11): a name within this machine, or within that of whoever claims it. */
const ZONE = /%.*$/s;

/**
 * Where a request comes from, by its connection or, with TRUST_PROXY, by `X-Forwarded-For`. `Forwarded` (RFC 7239) is
 * not read: a proxy that writes the one hands on what a client claims in the other.
 */
export function clientNetwork({ ip = '', socket }: Request): string {
  return networkOf(ip) ?? networkOf(socket.remoteAddress) ?? '';
}

/** The same to the last bit, an IPv4 address always as such; empty if nothing tells. */
export function clientAddress({ ip = '', socket }: Request): string {
  return (parseAddress(ip) ?? parseAddress(socket.remoteAddress))?.toString() ?? '';
}

/**
 * One client, as far as an address tells: an IPv4 address or, since whoever has one IPv6 address has its whole /64
 * (RFC 4291, 2.5.4), an IPv6 network; but all neighbours on a link share one /64, so of theirs the whole address counts.
 * A port beside it counts for nothing; undefined for what is no address.
 */
export function networkOf(text = ''): string | undefined {
  const address = parseAddress(text);
  if (!(address instanceof ipaddr.IPv6)) return address?.toString();
  return isLinkLocal(address) ? address.toString() : address.parts.slice(0, 4).join(':');
}

/** An address, however it is written, with a port or without; undefined for what is none. It never throws. */
export function parseAddress(text = ''): Address | undefined {
  const bare = text.replace(ZONE, '');
  const address = isIP(bare) ? bare : ENDPOINT.test(text) ? SocketAddress.parse(text)?.address : undefined;
  return address !== undefined && ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
}

/** RFC 4291, 2.5.6. */
function isLinkLocal({ parts }: ipaddr.IPv6): boolean {
  return (parts[0]! & 0xffc0) === 0xfe80;
}
