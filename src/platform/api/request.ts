import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP, SocketAddress } from 'node:net';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';
import type { OperationFacts } from './operation.js';

// What is known of a request: its id, where it comes from, to which address it was sent, and who makes it.

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

/** A request to a controller: the guard gives it its operation before it checks anything. */
export interface RoutedRequest extends Request {
  operation: OperationFacts;
  /** Whether its body was waited for, so that what it was let in for may be true no more. */
  hasWaited?: boolean;
  /** What is sent instead of what the controller and its interceptors have come to, if anything is to be. */
  settle?: (body: unknown) => Promise<unknown>;
}

/** A request past the guard, with its account. */
export interface AuthenticatedRequest extends RoutedRequest {
  accountId: string;
  /** Of the API key, if it came with one. */
  keyId?: string;
  /** What its key may do; undefined stands for everything. */
  permissions?: ReadonlySet<string>;
}

/** Gives a controller method the id of the calling account. */
export const AccountId = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().accountId,
);

/** Who makes a change, as the audit log has it. */
export interface Caller {
  accountId: string;
  /** Of the API key; none if it was made by email and password, or by an operator. */
  keyId?: string;
  requestId?: string;
  /** Where it comes from, as `clientNetwork` says. */
  address?: string;
  isOperator?: boolean;
  /** The name of a job or a schedule, which does it without a request: `by` of its `Job` has it. */
  job?: string;
}

/** Whoever changes something that is of no account, or not yet. */
export type Anyone = Omit<Caller, 'accountId'> & Partial<Pick<Caller, 'accountId'>>;

/** The caller of a request; one that makes its account has none yet. */
export function callerOf(request: Request & { accountId?: string; keyId?: string }): Caller {
  const { accountId = '', keyId } = request;
  return { accountId, keyId, requestId: requestIdOf(request.res!), address: clientNetwork(request) };
}

/** Gives a controller method the caller of a request, for what is written to the audit log. */
export const By = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  callerOf(context.switchToHttp().getRequest<AuthenticatedRequest>()),
);
