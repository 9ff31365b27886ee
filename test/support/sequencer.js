import BaseSequencer from '@jest/test-sequencer';

/** Files that wait for processes and time-outs; started first, so that little is left at the end. */
const LONG = ['process', 'browser', 'admin', 'delivery', 'errors', 'limits', 'fuzz'];

/** The longest first, and the contract test last: it checks what all the others have seen against the document. */
export default class Sequencer extends BaseSequencer {
  sort(tests) {
    return tests.toSorted((a, b) => rank(a) - rank(b) || a.path.localeCompare(b.path));
  }
}

function rank({ path }) {
  const name = path.replace(/^.*\//, '').replace('.test.ts', '');
  if (name === 'contract') return LONG.length + 1;
  return LONG.includes(name) ? LONG.indexOf(name) : LONG.length;
}
