import Sequencer from '@jest/test-sequencer';

/** The files that take longest: 128 to 30 s beside two others on two cores. */
const SLOWEST = [
  ...['process', 'database-settings', 'embedded', 'messages', 'admin', 'contract', 'streams'],
  ...['errors', 'identity', 'accounts', 'upgrade', 'extending', 'browser'],
].map((name) => `${name}.test.ts`);

/**
 * Has the longest files begin first: begun last, one of them would run alone at the end. Jest knows how long each took only
 * where it has run before, which a clean clone has not, and goes by the sizes of the files.
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
