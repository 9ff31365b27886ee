import { BlockList, isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ApiError, type FieldOptions, ListField, PatternField } from 'petstore/platform';

const MAX_NETWORKS = 20;
const BYTE = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const IPV4 = `${BYTE}(?:\\.${BYTE}){3}(?:/(?:3[0-2]|[12]?[0-9]))?`;
const IPV6 = `(?:${ipv6Forms().join('|')})(?:/(?:12[0-8]|1[01][0-9]|[1-9]?[0-9]))?`;

/**
 * An address or a network in CIDR notation (RFC 4632, RFC 4291, 2.2). A pattern, so that the document has the rule; `isIP`
 * would also accept zones, and IPv4 within IPv6.
 */
const NETWORK = PatternField({
  description: 'An address or a network.',
  pattern: new RegExp(`^(?:${IPV4}|${IPV6})$`),
  max: 43,
  must: 'an IP address, or a network such as 192.0.2.0/24 or 2001:db8::/32',
});

/** The networks of a key, by family: `BlockList` would find IPv4 addresses in `::/0`. */
export type Networks = Readonly<Record<'ipv4' | 'ipv6', BlockList>>;

/** A field with a list of addresses and networks. */
export function NetworksField(options: FieldOptions) {
  return ListField({ ...options, of: NETWORK, min: 1, max: MAX_NETWORKS, unique: true });
}

/** The stored networks of a key; undefined for all. Networks of 1.x are stored as they were sent. */
export function networksOf(stored: readonly string[] | null): Networks | undefined {
  if (!stored) return undefined;
  const networks = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const [address, bits] of stored.map(parseNetwork))
    networks[address.kind()].addSubnet(address.toString(), bits, address.kind());
  return networks;
}

/** The networks without duplicates, in one notation (RFC 5952), and without host bits, which `BlockList` would keep. */
export function canonicalNetworks(sent: readonly string[]): string[] {
  return [...new Set(sent.map((text) => textOf(...parseNetwork(text))))];
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

function parseNetwork(text: string): [Address, bits: number] {
  const [address, bits] = ipaddr.parseCIDR(
    text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`,
  );
  // The service knows IPv4 clients by IPv4 addresses, also if the socket has them mapped into IPv6 (RFC 4291, 2.5.5.2).
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= 96;
  return isMapped ? [address.toIPv4Address(), bits - 96] : [address, bits];
}

function textOf(address: Address, bits: number): string {
  const kind = address instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6;
  const base = kind.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString();
  return bits === 8 * address.toByteArray().length ? base : `${base}/${bits}`;
}

/** @throws ApiError `permission_denied` for an address outside all networks of a key */
export function requireNetwork(networks: Networks, address: string): void {
  const family = address.includes(':') ? 'ipv6' : 'ipv4';
  if (isIP(address) && networks[family].check(address, family)) return;
  throw new ApiError('permission_denied', `The API key may not be used from ${address || 'this address'}.`);
}

/** The forms of an IPv6 address: eight groups, or fewer, with `::` in place of the missing ones. */
function ipv6Forms(): string[] {
  const group = '[0-9A-Fa-f]{1,4}';
  const between = [1, 2, 3, 4, 5, 6].map((n) => `(?:${group}:){1,${7 - n}}(?::${group}){1,${n}}`);
  return [`(?:${group}:){7}${group}`, `(?:${group}:){1,7}:`, ...between, `:(?::${group}){1,7}`, '::'];
}
