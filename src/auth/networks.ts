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

/** A list of addresses and networks, kept as sent. What stands behind the prefix of a network counts for nothing. */
export function NetworksField(options: FieldOptions) {
  return ListField({ ...options, of: NETWORK, min: 1, max: MOST, unique: true });
}

/** Stored networks, to compare addresses with; undefined where any will do. */
export function networksOf(stored: readonly string[] | null): Network[] | undefined {
  return stored?.map((text) => {
    const [base, prefix] = text.split('/');
    const address = ipaddr.parse(base!);
    return [address, prefix === undefined ? address.toByteArray().length * 8 : Number(prefix)];
  });
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
