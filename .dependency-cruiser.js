const BASE = ['common', 'database', 'http', 'observability', 'tracing'];
const ACCESS = [...BASE, 'limits', 'auth', 'idempotency'];

/** The folders of `src` that the files of a folder may import from, besides their own. */
const BELOW = {
  common: ['database'],
  tracing: ['common'],
  http: ['common', 'database'],
  observability: ['common', 'http', 'tracing'],
  database: ['common', 'observability', 'tracing'],
  health: BASE,
  limits: BASE,
  auth: [...BASE, 'limits'],
  idempotency: [...BASE, 'limits', 'auth'],
  admin: [...BASE, 'limits', 'auth'],
  messages: ACCESS,
  categories: ACCESS,
  pets: [...ACCESS, 'categories'],
  store: [...ACCESS, 'categories', 'pets'],
};
const NAMED = Object.keys(BELOW);
/** A feature above those named here: nothing named may import from it. */
const ANY_OTHER = { path: '^src/([^/]+)/', pathNot: `^src/(${NAMED.join('|')}|openapi|migrations|cluster)/` };

/** Reports imports from `src`, except from some folders and what all may use: the configuration, and commands. */
function only(name, from, folders) {
  const allowed = [`^src/(${folders.join('|')})/`, '^src/(config|command|operator-error)\\.ts$'];
  return { name, severity: 'error', from, to: { path: '^src/', pathNot: allowed } };
}

/**
 * Imports go one way, and no feature imports from one above it.
 * @type {import('dependency-cruiser').IConfiguration}
 */
export default {
  forbidden: [
    ...NAMED.map((one) => only(`imports of ${one}`, { path: `^src/${one}/` }, [one, ...BELOW[one]])),
    only('imports of a feature', ANY_OTHER, ['$1', ...ACCESS, 'categories', 'pets', 'store', 'messages']),
    // `write.ts` starts the service that it asks for the document.
    only('imports of openapi', { path: '^src/openapi/', pathNot: 'write\\.ts$' }, [
      'openapi',
      'common',
      'http',
    ]),
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: 'node_modules',
  },
};
