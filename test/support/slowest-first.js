import Sequencer from '@jest/test-sequencer';

/** The slowest files: 128 to 30 s beside two others on two cores. */
const SLOWEST = [
  ...['process', 'database-settings', 'embedded', 'messages', 'admin', 'contract', 'streams'],
  ...['errors', 'identity', 'accounts', 'upgrade', 'extending', 'browser'],
].map((name) => `${name}.test.ts`);

/**
 * Starts the slowest files first: otherwise, a slow file could run alone at the end. Jest knows durations
 * only after a first run; in a clean clone, it goes by file sizes.
 */
export default class extends Sequencer {
  sort(tests) {
    // oxlint-disable-next-line unicorn/no-array-sort -- Jest's own method
    return super.sort(tests).toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

/** @param {import('@jest/test-sequencer').Test} test */
function rankOf({ path }) {
  const rank = SLOWEST.findIndex((name) => path.endsWith(`/${name}`));
  return rank < 0 ? SLOWEST.length : rank;
}
