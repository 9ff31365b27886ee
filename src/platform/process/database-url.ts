import { isURL } from 'class-validator';

/** Hosts in a private network have no top-level domain, and those of Docker Compose may contain an underscore. */
export const PRIVATE = { require_protocol: true, require_tld: false, allow_underscores: true };
const POSTGRES = { ...PRIVATE, protocols: ['postgres', 'postgresql'] };
/** What is before the hosts, the hosts, and what is after them. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/s;
const FOR_WRITES = new Set(['read-write', 'primary']);

/**
 * The URLs of the single hosts that one names, as libpq's do: `postgresql://user@host1:5432,host2/database`.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-MULTIPLE-HOSTS
 */
export function hostUrlsOf(url: string): string[] {
  const [, before = '', hosts = '', after = ''] = PARTS.exec(url) ?? ['', url];
  return hosts.split(',').map((host) => `${before}${host}${after}`);
}

/** Whether it leads to that one of its hosts that can be written, and not simply to the only one. */
export function isForWrites(url: string): boolean {
  const urls = hostUrlsOf(url);
  return urls.length > 1 || FOR_WRITES.has(attributesOf(urls[0]!) ?? '');
}

/** Whether it is the URL of one PostgreSQL server, or of several hosts, none of which are asked for to be read only. */
export function isDatabaseUrl(url: string): boolean {
  const urls = hostUrlsOf(url);
  if (!urls.every((one) => isURL(one, POSTGRES))) return false;
  return urls.length === 1 || FOR_WRITES.has(attributesOf(urls[0]!) ?? 'read-write');
}

/** Whether it is the URL of one PostgreSQL server. */
export function isServerUrl(url: string): boolean {
  return isURL(url, POSTGRES);
}

function attributesOf(url: string): string | undefined {
  return URL.parse(url)?.searchParams.get('target_session_attrs') ?? undefined;
}
