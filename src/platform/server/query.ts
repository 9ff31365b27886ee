/**
 * Reads a query string. A parameter that is repeated or bracketed (`limit=1&limit=2`, `limit[]=1`) becomes an array
 * under its plain name, which no rule accepts, so that it is refused instead of ignored or half read.
 */
export function parseQuery(text: string | null | undefined): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  if (!text) return query;
  for (const [name, value] of new URLSearchParams(text)) {
    const bracket = name.indexOf('[');
    const plain = bracket > 0 ? name.slice(0, bracket) : name;
    const before = query[plain];
    if (before === undefined) query[plain] = bracket > 0 ? [value] : value;
    else if (Array.isArray(before)) before.push(value);
    else query[plain] = [before, value];
  }
  return query;
}
