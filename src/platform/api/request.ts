import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP, SocketAddress } from 'node:net';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request, Response } from 'express';
import ipaddr from 'ipaddr.js';
import type { OperationFacts } from './operation.js';
import type { Credentials } from './permissions.js';

// Facts of a request: its id, its origin, the address that it was sent to, and its caller.

const REQUEST_ID = 'X-Request-Id';
const WELL_FORMED = /^[\w.:~+/=-]{1,128}$/;

/** Sets the id of a request, for the response and the log: the client's own if well-formed, else a new id. */
export function giveRequestId(request: IncomingMessage, response: ServerResponse): void {
  const given = request.headers['x-request-id'];
  response.setHeader(REQUEST_ID, typeof given === 'string' && WELL_FORMED.test(given) ? given : randomUUID());
}

export function requestIdOf(response: ServerResponse): string {
  return String(response.getHeader(REQUEST_ID) ?? '');
}

/** How often a request has a header; Node's `headers` may show only the first. @param name in lower case */
export function countHeader({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const one = rawHeaders[i]!;
    if (one.length === name.length && one.toLowerCase() === name) count++;
  }
  return count;
}

/** An IP address without a zone; IPv4 is never mapped into IPv6. */
export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address with a port or in brackets, which some proxies send; `SocketAddress.parse` accepts far more. */
const ENDPOINT = /^(?:\[[\da-f:.]+\]|\d+(?:\.\d+){3})(?::\d+)?$/i;

/** The zone of an address (RFC 4007, 11), which means nothing on another machine. */
const ZONE = /%.*$/s;

/** Parses an address in any notation, with or without a port; undefined for an invalid text. Never throws. */
export function parseAddress(text = ''): Address | undefined {
  const bare = text.replace(ZONE, '');
  const address = isIP(bare) ? bare : ENDPOINT.test(text) ? SocketAddress.parse(text)?.address : undefined;
  return address !== undefined && ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
}

/**
 * The network of an address, which stands for one client: an IPv4 address, or an IPv6 /64, as a client has a whole /64 (RFC
 * 4291, 2.5.4). All link-local addresses (2.5.6) share one /64, so each counts by itself. Ignores a port; undefined for an
 * invalid address.
 */
export function networkOf(text = ''): string | undefined {
  const address = parseAddress(text);
  if (!(address instanceof ipaddr.IPv6)) return address?.toString();
  const isLinkLocal = (address.parts[0]! & 0xffc0) === 0xfe80;
  return isLinkLocal ? address.toString() : address.parts.slice(0, 4).join(':');
}

/**
 * The network of the client, from `X-Forwarded-For` if TRUST_PROXY is set. Ignores `Forwarded` (RFC 7239): a proxy that sets one
 * of the two headers passes the other on as the client sent it.
 */
export function forwardedNetwork({ ip = '', socket }: Request): string {
  return networkOf(ip) ?? networkOf(socket.remoteAddress) ?? '';
}

type WithNetwork = IncomingMessage & { network?: string };

/** Notes the network of the client of a request. */
export function setNetwork(request: WithNetwork, network: string): void {
  request.network = network;
}

/** The network of the client, as it was noted; empty if unknown. */
export function clientNetwork({ network = '' }: WithNetwork): string {
  return network;
}

/** The full address of the client; empty if unknown. */
export function clientAddress({ ip = '', socket }: Request): string {
  return (parseAddress(ip) ?? parseAddress(socket.remoteAddress))?.toString() ?? '';
}

/** The last origin, which nearly every request repeats: parsing takes most of the time of `originOf`. */
let last = { address: '', origin: '' };

/**
 * The scheme, host and port that a request was sent to. Ignores an invalid scheme from a proxy; for HTTP/1.0 without `Host`,
 * takes the address of the listener. `findHostProblem` has refused an invalid `Host`.
 */
export function originOf(request: Request): string {
  const { protocol, socket, headers } = request;
  const scheme = /^https?$/i.test(protocol) ? protocol : 'http';
  const address = `${scheme}://${headers.host || listenerOf(socket)}`;
  if (last.address !== address) last = { address, origin: new URL(address).origin };
  return last.origin;
}

/** The address and port of the listener; an IPv6 address is in brackets (RFC 3986, 3.2.2). */
function listenerOf({ localAddress, localPort = 80 }: Request['socket']): string {
  const address = parseAddress(localAddress);
  if (!(address instanceof ipaddr.IPv6)) return `${address?.toString() ?? 'localhost'}:${localPort}`;
  return `[${address.toNormalizedString()}]:${localPort}`;
}

const ANY_VERSION = /^\/v\d+(?=\/)/;
const FIRST_VERSION = '/v1';

/** The version at the start of a path, such as `/v1`; else the empty string. */
export function versionOf(path: string): string {
  return ANY_VERSION.exec(path)?.[0] ?? '';
}

/** A path without its version. */
export function withoutVersion(path: string): string {
  return path.slice(versionOf(path).length);
}

/** Whether a path has a version after the first: such a path keeps its version in the OpenAPI document. */
export function isLaterVersion(path: string): boolean {
  return !['', FIRST_VERSION].includes(versionOf(path));
}

/** A configured server address without the `/v1` at its end. */
export function aboveVersions(baseUrl: string): string {
  return baseUrl.endsWith(FIRST_VERSION) ? baseUrl.slice(0, -FIRST_VERSION.length) : baseUrl;
}

/** A request to a controller; the guard sets `operation` before any other code reads the property. */
export interface RoutedRequest extends Request {
  operation: OperationFacts;
  /**
   * The guard's checks that need the body, called once it has been read; undefined if no body is read. All requests share one
   * function: a closure per request kept its request alive, so V8 promoted 2.5 of 25 MB under a load of POSTs, instead of 0.7.
   * @param isLate whether the body arrived so late that the credentials may have changed
   */
  checkBody?: (request: RoutedRequest, response: Response, isLate: boolean) => Promise<void>;
}

/** A request that the guard has admitted, with its account. */
export interface AuthenticatedRequest extends RoutedRequest, Credentials {
  accountId: string;
}

/** Injects the id of the calling account into a controller method. */
export const AccountId = createParamDecorator(
  (_data: unknown, context: ExecutionContext) =>
    context.switchToHttp().getRequest<AuthenticatedRequest>().accountId,
);

/** The author of a change, for the audit log. */
export interface Caller {
  accountId: string;
  /** The id of the API key; undefined for a password, an access token or an operator. */
  keyId?: string;
  requestId?: string;
  /** The network of the client, as `clientNetwork` returns it. */
  address?: string;
  isOperator?: boolean;
  /** The name of the job or schedule that makes the change without a request. */
  job?: string;
}

/** The author of a change, who may have no account, or none yet. */
export type Actor = Omit<Caller, 'accountId'> & Partial<Pick<Caller, 'accountId'>>;

/** The caller of a request; a sign-up has no account yet. */
export function callerOf(request: Request & { accountId?: string; keyId?: string }): Caller {
  const { accountId = '', keyId } = request;
  return { accountId, keyId, requestId: requestIdOf(request.res!), address: clientNetwork(request) };
}

/** Injects the caller of the request into a controller method, for the audit log. */
export const By = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  callerOf(context.switchToHttp().getRequest<AuthenticatedRequest>()),
);
