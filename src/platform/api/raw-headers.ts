import type { IncomingMessage } from 'node:http';

/** How often a header was sent, by its lower-case name: `headers` keeps only the first of some that are repeated. */
export function timesSent({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const other = rawHeaders[i]!;
    if (other.length === name.length && other.toLowerCase() === name) count++;
  }
  return count;
}
