import fc, { type Arbitrary } from 'fast-check';

/** Code points between U+D800 and U+DFFF are halves of pairs, and no characters. */
const [HALVES, HALVES_END] = [0xd800, 0xe000];

/**
 * Any character, as the unit `binary` of fast-check has them, which makes a table of all million the first time: 1.5 s of
 * processor time in each file of tests.
 */
export const CHARACTER: Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff - (HALVES_END - HALVES) }).map(
  (n) => String.fromCodePoint(n < HALVES ? n : n + HALVES_END - HALVES),
  (value) => {
    const n = typeof value === 'string' && value.isWellFormed() ? value.codePointAt(0) : undefined;
    if (n === undefined || String.fromCodePoint(n) !== value) throw new Error('No character');
    return n < HALVES ? n : n - (HALVES_END - HALVES);
  },
);
