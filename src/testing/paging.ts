import { type Answer, call, type CallOptions } from './client.js';
import type { TestedService } from './service.js';

/** The address of the next page in the `Link` header, if any. */
export function nextOf({ headers }: Answer): URL | null {
  return URL.parse(/^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '');
}

/** Follows the `Link` headers to the last page; returns all items. `between` runs between pages. */
export async function walk<Item>(
  service: TestedService,
  path: string,
  options: CallOptions,
  between: (page: Answer) => Promise<unknown> = async () => {},
): Promise<Item[]> {
  const items: Item[] = [];
  for (let address = path; ;) {
    const page = await call(service, 'GET', address, options);
    items.push(...(page.body as Item[]));
    const next = nextOf(page);
    if (!next) return items;
    await between(page);
    address = next.pathname + next.search;
  }
}
