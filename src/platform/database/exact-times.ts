import { isDate } from 'node:util/types';

/** A day before the last time that a Date can hold, in milliseconds: until then, its local time is one too. */
const LAST = 8.64e15 - 86_400_000;

/** A query as `pg` takes it, in either of its forms: a text and values, or an object that holds both. */
type QueryArguments = [what: string | { values?: unknown[] }, values?: unknown];

/**
 * The arguments of `pg`'s `query` with every Date among the values as a text of its local time and its offset to the
 * second. A `timestamp` column then holds what TypeORM documents, the local time; a `timestamptz` column the exact instant
 * in zones whose offset had odd seconds before 1900 too, which `pg` cuts off.
 */
export function withExactTimes<Arguments extends unknown[]>(args: Arguments): Arguments {
  const [what, values] = args as unknown as QueryArguments;
  if (Array.isArray(values)) {
    if (values.some(holdsTime)) args[1] = values.map(exact);
  } else if (typeof what === 'object' && what.values?.some(holdsTime)) {
    const exactValues = what.values.map(exact);
    // A query that submits itself is its caller's no more.
    if ('submit' in what) what.values = exactValues;
    else args[0] = { ...what, values: exactValues };
  }
  return args;
}

function holdsTime(value: unknown): boolean {
  return isDate(value) || (Array.isArray(value) && value.some(holdsTime));
}

function exact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(exact);
  return isDate(value) && Math.abs(value.getTime()) < LAST ? textOf(value) : value;
}

function textOf(time: Date): string {
  const year = time.getFullYear();
  // The same numbers, as if they were UTC.
  const local = new Date(0);
  local.setUTCFullYear(year, time.getMonth(), time.getDate());
  local.setUTCHours(time.getHours(), time.getMinutes(), time.getSeconds(), time.getMilliseconds());
  const offset = Math.round((local.getTime() - time.getTime()) / 1_000);
  const seconds = Math.abs(offset);
  const zone = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60].map(two).join(':');
  // The year before 1 is 1 BC.
  const written = String(year > 0 ? year : 1 - year).padStart(4, '0');
  const rest = local
    .toISOString()
    .replace(/^.*?(?=-\d\d-\d\dT)/, '')
    .slice(0, -1);
  return `${written}${rest}${offset < 0 ? '-' : '+'}${zone}${year > 0 ? '' : ' BC'}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
