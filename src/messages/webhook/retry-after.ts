/** The three forms of an HTTP date (RFC 9110, 5.6.7) all begin with the name of a day. */
const DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)/;

/** A `Retry-After` in seconds (RFC 9110, 10.2.3: a number or a date); 0 for anything else. */
export function retryAfterSeconds(header: string | null, now = Date.now()): number {
  if (!header) return 0;
  if (/^\d+$/.test(header)) return Number(header);
  const at = DATE.test(header) ? Date.parse(header) : NaN;
  return Number.isNaN(at) ? 0 : Math.max(0, (at - now) / 1000);
}
