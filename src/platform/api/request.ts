import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP, SocketAddress } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

// What is known of any request: its id, who sent it, and to which address.

const REQUEST_ID = 'X-Request-Id';
const WELL_FORMED = /^[\w.:~+/=-]{1,128}$/;

/** Gives a request its id, for the response and the log: the client's own if that is well-formed, else a new one. */
export function giveRequestId(request: IncomingMessage, response: ServerResponse): void {
  const given = request.headers['x-request-id'];
  response.setHeader(REQUEST_ID, typeof given === 'string' && WELL_FORMED.test(given) ? given : randomUUID());
}

/** The id that a request was given. */
export function requestIdOf(response: ServerResponse): string {
  return String(response.getHeader(REQUEST_ID) ?? '');
}

/** How often a header was sent, by its lower-case name: `headers` keeps only the first of some that are repeated. */
export function timesSent({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const other = rawHeaders[i]!;
    if (other.length === name.length && other.toLowerCase() === name) count++;
  }
  return count;
}

/** An IP address, IPv4 never within IPv6, without the zone that it had. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address with a port, or in brackets, as some proxies write them; `SocketAddress.parse` would take far more. */
const ENDPOINT = /^(?:\[[\da-f:.]+\]|\d+(?:\.\d+){3})(?::\d+)?$/i;

/** The zone of an address (RFC 4007, 11): a name within this machine, or within that of whoever claims it. */
const ZONE = /%.*$/s;

/** An address, however it is written, with a port or without; undefined for what is none. It never throws. */
export function parseAddress(text = ''): Address | undefined {
  const bare = text.replace(ZONE, '');
  const address = isIP(bare) ? bare : ENDPOINT.test(text) ? SocketAddress.parse(text)?.address : undefined;
  return address !== undefined && ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
}

/**
 * One client, as far as an address tells: an IPv4 address or, since whoever has one IPv6 address has its whole /64
 * (RFC 4291, 2.5.4), an IPv6 network; but all neighbours on a link (RFC 4291, 2.5.6) share one /64, so of theirs the whole
 * address counts. A port beside it counts for nothing; undefined for what is no address.
 */
export function networkOf(text = ''): string | undefined {
  const address = parseAddress(text);
  if (!(address instanceof ipaddr.IPv6)) return address?.toString();
  const isLinkLocal = (address.parts[0]! & 0xffc0) === 0xfe80;
  return isLinkLocal ? address.toString() : address.parts.slice(0, 4).join(':');
}

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

const ANY_VERSION = /^\/v\d+(?=\/)/;
const FIRST_VERSION = '/v1';

/** The version that the path of a route begins with, such as `/v1`; the empty string for one without. */
export function versionOf(path: string): string {
  return ANY_VERSION.exec(path)?.[0] ?? '';
}

/** A path without the version that it begins with. */
export function withoutVersion(path: string): string {
  return path.slice(versionOf(path).length);
}

/** Whether a path is of a version after the first. Those paths keep their version in the OpenAPI document. */
export function isLaterVersion(path: string): boolean {
  return !['', FIRST_VERSION].includes(versionOf(path));
}

/** A server's address above its versions: the configured ones end in `/v1`. */
export function aboveVersions(baseUrl: string): string {
  return baseUrl.endsWith(FIRST_VERSION) ? baseUrl.slice(0, -FIRST_VERSION.length) : baseUrl;
}
