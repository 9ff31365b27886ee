import ipaddr from 'ipaddr.js';
import { ApiError, type FieldOptions, ListField, PatternField } from 'petstore/platform';
import { type Address, parseAddress } from '../platform/api/index.js';

const MAX_NETWORKS = 20;
const BYTE = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const IPV4 = `${BYTE}(?:\\.${BYTE}){3}(?:/(?:3[0-2]|[12]?[0-9]))?`;
const IPV6 = `(?:${ipv6Forms().join('|')})(?:/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9]))?`;

/** An address or a network in CIDR notation (RFC 4632, RFC 4291, 2.2), IPv4 never within IPv6. */
const NETWORK = PatternField({
  description: 'An address or a network.',
  pattern: new RegExp(`^(?:${IPV4}|${IPV6})$`),
  max: 43,
  must: 'an IP address, or a network such as 192.0.2.0/24 or 2001:db8::/32',
});

/** An address, and the length of its prefix in bits. */
export type Network = [address: Address, bits: number];

/** A field with a list of addresses and networks. */
export function NetworksField(options: FieldOptions) {
  return ListField({ ...options, of: NETWORK, min: 1, max: MAX_NETWORKS, unique: true });
}

/** Parsed stored networks; undefined for all. Networks of 1.x are stored as they were sent. */
export function networksOf(stored: readonly string[] | null): Network[] | undefined {
  return stored?.map(parseNetwork);
}

/** The networks without duplicates, in one notation (RFC 5952), and without host bits. */
export function canonicalNetworks(sent: readonly string[]): string[] {
  return [...new Set(sent.map((text) => textOf(parseNetwork(text))))];
}

function parseNetwork(text: string): Network {
  const [base, prefix] = text.split('/');
  const address = ipaddr.parse(base!);
  const bits = prefix === undefined ? lengthOf(address) : Number(prefix);
  // The service knows IPv4 clients by IPv4 addresses, also if the socket has them mapped into IPv6 (RFC 4291, 2.5.5.2).
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96;
  return isMapped ? [address.toIPv4Address(), bits - 96] : [address, bits];
}

function textOf([address, bits]: Network): string {
  if (bits === lengthOf(address)) return address.toString();
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${kind.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString()}/${bits}`;
}

function lengthOf(address: Address): number {
  return address.kind() === 'ipv4' ? 32 : 128;
}

/** @throws ApiError `permission_denied` for an address outside all networks of a key */
export function requireNetwork(networks: readonly Network[], address: string): void {
  const parsed = parseAddress(address);
  if (parsed && networks.some(([base, bits]) => base.kind() === parsed.kind() && parsed.match(base, bits)))
    return;
  throw new ApiError('permission_denied', `The API key may not be used from ${address || 'this address'}.`);
}

/** Eight groups, or fewer with `::` in their place. */
function ipv6Forms(): string[] {
  const group = '[0-9A-Fa-f]{1,4}';
  const between = [1, 2, 3, 4, 5, 6].map((n) => `(?:${group}:){1,${7 - n}}(?::${group}){1,${n}}`);
  return [`(?:${group}:){7}${group}`, `(?:${group}:){1,7}:`, ...between, `:(?::${group}){1,7}`, '::'];
}
