import type { Repository } from 'typeorm';
import { encodeCursor, type Page, type PageQuery } from '../api/paging.js';
import { type Filter, readSlice } from './pages.js';

/**
 * One page of the rows that match a filter, in ascending order of ids. A page starts after an id, not at an offset:
 * each costs the same at any depth, and rows that are added or change meanwhile neither repeat an item nor hide one.
 * That takes an index on the properties of the filter, in their order, and the id.
 */
export async function paginate<T extends { id: string }>(
  rows: Repository<T>,
  filter: Filter<T>,
  { limit, cursor }: PageQuery,
): Promise<Page<T>> {
  const { items, hasMore } = await readSlice(rows, filter, limit, cursor);
  return hasMore ? { items, next: encodeCursor(items.at(-1)!.id) } : { items };
}
