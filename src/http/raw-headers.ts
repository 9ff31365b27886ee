import type { IncomingMessage } from 'node:http';

/** How often a header came, by its name in lower case: of some that come twice, `headers` keeps the first alone. */
export function timesSent({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const other = rawHeaders[i]!;
    if (other.length === name.length && other.toLowerCase() === name) count++;
  }
  return count;
}
