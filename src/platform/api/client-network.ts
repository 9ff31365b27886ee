import { isIP, SocketAddress } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/** An address with a port, or in brackets, as some proxies write them; `SocketAddress.parse` would take far more. */
const ENDPOINT = /^(?:\[[\da-f:.]+\]|\d+(?:\.\d+){3})(?::\d+)?$/i;

/**
 * Where a request comes from, by its connection or, with TRUST_PROXY, by `X-Forwarded-For`. `Forwarded` (RFC 7239) is
 * not read: a proxy that writes the one hands on what a client claims in the other.
 */
export function clientNetwork({ ip = '', socket }: Request): string {
  return networkOf(ip) ?? networkOf(socket.remoteAddress) ?? '';
}

/** The same to the last bit, an IPv4 address always as such; empty if nothing tells. */
export function clientAddress({ ip = '', socket }: Request): string {
  return (addressOf(ip) ?? addressOf(socket.remoteAddress))?.toString() ?? '';
}

/**
 * One client, as far as an address tells: an IPv4 address or, since whoever has one IPv6 address has its whole /64
 * (RFC 4291, 2.5.4), an IPv6 network. A port beside it counts for nothing; undefined for what is no address.
 */
export function networkOf(text = ''): string | undefined {
  const address = addressOf(text);
  return address instanceof ipaddr.IPv6 ? address.parts.slice(0, 4).join(':') : address?.toString();
}

function addressOf(text = ''): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  const bare = isIP(text) ? text : ENDPOINT.test(text) ? SocketAddress.parse(text)?.address : undefined;
  return bare === undefined ? undefined : ipaddr.process(bare);
}
