import fc, { type Arbitrary } from 'fast-check';

/** Code points from U+D800 to U+DFFF are surrogates, not characters. */
const [HALVES, HALVES_END] = [0xd800, 0xe000];

/**
 * Any character, like fast-check's unit `binary`, whose table of a million characters takes 1.5 s of CPU time
 * in each test file.
 */
export const CHARACTER: Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff - (HALVES_END - HALVES) }).map(
  (n) => String.fromCodePoint(n < HALVES ? n : n + HALVES_END - HALVES),
  (value) => {
    const n = typeof value === 'string' && value.isWellFormed() ? value.codePointAt(0) : undefined;
    if (n === undefined || String.fromCodePoint(n) !== value) throw new Error('No character');
    return n < HALVES ? n : n - (HALVES_END - HALVES);
  },
);
