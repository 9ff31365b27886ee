import BaseSequencer from '@jest/test-sequencer';

/** Alphabetical, but the contract test last: it holds what all the others have seen against the document. */
export default class Sequencer extends BaseSequencer {
  sort(tests) {
    const isLast = (test) => Number(test.path.endsWith('contract.test.ts'));
    return tests.toSorted((a, b) => isLast(a) - isLast(b) || a.path.localeCompare(b.path));
  }
}
