import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ApiError } from '../platform/api/api-error.js';
import { field, type FieldOptions } from '../platform/api/field.js';
import { ListField } from '../platform/api/nested-fields.js';

/** Networks that a key may be used from. */
const MOST = 20;
const PREFIX = /^(.+)\/(0|[1-9]\d{0,2})$/;

/** An address, and how many of its bits count. */
export type Network = [address: ipaddr.IPv4 | ipaddr.IPv6, bits: number];

const NETWORK = field(
  { description: 'An address or a network.', example: '192.0.2.0/24' },
  {
    schema: { type: 'string', minLength: 2, maxLength: 43 },
    must: 'an IP address, or a network such as 192.0.2.0/24 or 2001:db8::/32, of which no bit is set behind the prefix',
    accepts: (value) => typeof value === 'string' && parse(value) !== undefined,
  },
);

/** A list of addresses and networks in CIDR notation (RFC 4632, RFC 4291), kept as sent. */
export function NetworksField(options: FieldOptions) {
  return ListField({ ...options, of: NETWORK, min: 1, max: MOST, unique: true });
}

/** Stored networks, to compare addresses with; undefined where any will do. */
export function networksOf(stored: readonly string[] | null): Network[] | undefined {
  return stored?.map((text) => parse(text)!);
}

/** @throws ApiError `permission_denied` for an address that is in none of the networks of a key */
export function requireNetwork(networks: readonly Network[], address: string): void {
  if (ipaddr.isValid(address) && isIn(networks, ipaddr.process(address))) return;
  throw new ApiError('permission_denied', `The API key may not be used from ${address || 'this address'}.`);
}

function isIn(networks: readonly Network[], address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return networks.some(([one, bits]) => one.kind() === address.kind() && address.match(one, bits));
}

/** Undefined for what is no network: one with bits behind its prefix is more likely a slip than meant. */
function parse(text: string): Network | undefined {
  const [, base = text, prefix] = PREFIX.exec(text) ?? [];
  if (!isIP(base) || base.includes('%')) return undefined;
  const address = ipaddr.parse(base);
  // The address of a client is never written like this.
  if (address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()) return undefined;
  const most = address.toByteArray().length * 8;
  const bits = prefix === undefined ? most : Number(prefix);
  if (bits > most) return undefined;
  const { IPv4, IPv6 } = ipaddr;
  const first = (most === 32 ? IPv4 : IPv6).networkAddressFromCIDR(`${address.toString()}/${bits}`);
  return first.toString() === address.toString() ? [address, bits] : undefined;
}
