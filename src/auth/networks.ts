import ipaddr from 'ipaddr.js';
import { ApiError, type FieldOptions, ListField, PatternField } from 'petstore/platform';
import { type Address, parseAddress } from '../platform/api/index.js';

/** Networks that a key may be used from. */
const MOST = 20;
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

/** An address, and how many of its bits count. */
export type Network = [address: Address, bits: number];

/** A list of addresses and networks. */
export function NetworksField(options: FieldOptions) {
  return ListField({ ...options, of: NETWORK, min: 1, max: MOST, unique: true });
}

/** Stored networks, to compare addresses with; undefined where any will do. Those of 1.x stand as they were sent. */
export function networksOf(stored: readonly string[] | null): Network[] | undefined {
  return stored?.map(parseNetwork);
}

/** The same networks, each once and in one notation (RFC 5952), without the bits of a host: what counts is what is shown. */
export function canonicalNetworks(sent: readonly string[]): string[] {
  return [...new Set(sent.map((text) => textOf(parseNetwork(text))))];
}

function parseNetwork(text: string): Network {
  const [base, prefix] = text.split('/');
  const address = ipaddr.parse(base!);
  const bits = prefix === undefined ? lengthOf(address) : Number(prefix);
  // Clients have IPv4 addresses even where the machine sees them within IPv6 (RFC 4291, 2.5.5.2).
  const isWithin = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96;
  return isWithin ? [address.toIPv4Address(), bits - 96] : [address, bits];
}

function textOf([address, bits]: Network): string {
  if (bits === lengthOf(address)) return address.toString();
  const kind = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${kind.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString()}/${bits}`;
}

function lengthOf(address: Address): number {
  return address.kind() === 'ipv4' ? 32 : 128;
}

/** @throws ApiError `permission_denied` for an address that is in none of the networks of a key */
export function requireNetwork(networks: readonly Network[], address: string): void {
  const parsed = parseAddress(address);
  if (parsed && isIn(networks, parsed)) return;
  throw new ApiError('permission_denied', `The API key may not be used from ${address || 'this address'}.`);
}

function isIn(networks: readonly Network[], address: Address): boolean {
  return networks.some(([one, bits]) => one.kind() === address.kind() && address.match(one, bits));
}

/** Eight groups, or fewer with `::` in their place. */
function ipv6Forms(): string[] {
  const group = '[0-9A-Fa-f]{1,4}';
  const between = [1, 2, 3, 4, 5, 6].map((n) => `(?:${group}:){1,${7 - n}}(?::${group}){1,${n}}`);
  return [`(?:${group}:){7}${group}`, `(?:${group}:){1,7}:`, ...between, `:(?::${group}){1,7}`, '::'];
}
