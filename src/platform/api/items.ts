import { type Declared, Faults, UNREADABLE } from './field.js';

const TWICE = new Faults([' must not have an item twice']);

/** So many bad items are named; what comes after them is not looked at. */
export const MOST_NAMED = 10;

/** One value of a list or map, read as its kind says; `reasons` is empty if it is accepted. */
export function readItem(item: Declared, holder: object, name: string | number, path: string) {
  const given = (holder as Record<string | number, unknown>)[name];
  const isHostile = typeof given === 'object' && given !== null && !item.isNested;
  const value = isHostile ? UNREADABLE : item.read(given, holder, name);
  return { value, reasons: item.accepts(value) ? [] : item.reasons(path, value) };
}

/** The items of a list, each read as its kind says, or what is wrong with the first bad ones. */
export function readItems(item: Declared, sent: readonly unknown[], unique = false): unknown[] | Faults {
  const values: unknown[] = [];
  const faults: string[][] = [];
  for (let i = 0; i < sent.length && faults.length < MOST_NAMED; i++) {
    const { value, reasons } = readItem(item, sent, i, `[${i}]`);
    if (reasons.length === 0) values.push(value);
    else faults.push(reasons);
  }
  if (faults.length > 0) return new Faults(faults.flat());
  return unique && new Set(values).size < values.length ? TWICE : values;
}
