/** The URL of several servers of one database: those of a primary and its standbys, in this order. */
export function urlOf(...urls: string[]): string {
  const hosts = urls.map((url) => new URL(url).host);
  return urls[0]!.replace(hosts[0]!, hosts.join(','));
}
