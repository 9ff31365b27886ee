const LAST_CODE_POINT = 0x10ffff;
const SURROGATES = { first: 0xd800, next: 0xe000 };

/** Values from one on, up to but not including another; without one of them, there is no end on that side. */
export class Range<Value = unknown> {
  constructor(
    readonly from: Value | undefined,
    readonly to: Value | undefined,
    /** Whether it is that of a prefix, which holds in the order of code points alone. */
    readonly isPrefix = false,
  ) {}
}

/** As a filter: values from one on, up to but not including another. No filter if both are undefined. */
export function between<Value>(from?: Value, to?: Value): Range<Value> | undefined {
  return from === undefined && to === undefined ? undefined : new Range(from, to);
}

/** As a filter: texts that begin with another, in the same case. No filter if that is undefined or empty. */
export function startingWith(prefix?: string): Range<string> | undefined {
  return prefix ? new Range(prefix, successorOf(prefix), true) : undefined;
}

/** The first text, in the order of code points, after all that begin with a prefix; undefined if they are the last. */
function successorOf(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  while (points.at(-1) === LAST_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  const next = last + 1 === SURROGATES.first ? SURROGATES.next : last + 1;
  return String.fromCodePoint(...points, next);
}
