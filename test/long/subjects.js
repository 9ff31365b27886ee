import { createInterface } from 'node:readline';

// Reads the paths of a change, one a line, and prints the tests of the night that it has to pass too.

/** What each test of the night is about. */
const SUBJECTS = [
  [/^(?:schematics|examples)\/|^src\/platform\/index/, ['extending', 'modules/package']],
  [/^(?:Dockerfile|\.dockerignore|deploy\/|compose\.yaml)/, ['image/image', 'manifests']],
  [/^docs\/operating/, ['dump']],
  [/(?:^|\/)migrations\/|^released\//, ['upgrade', 'dump', 'clients']],
  [/^src\/platform\/docs\/site\//, ['browser', 'sign-in']],
  [/^clients\//, ['clients', 'samples']],
  [/^src\/platform\/data\//, ['lists']],
  [/^src\/platform\/database\//, ['pgbouncer']],
  [/^src\/platform\/jobs\//, ['jobs']],
];

const found = new Set();
for await (const path of createInterface(process.stdin))
  for (const [pattern, tests] of SUBJECTS)
    if (pattern.test(path)) for (const name of tests) found.add(`test/long/${name}.test.ts`);
console.log([...found].join('\n'));
