/** The rooms of `src/platform`, each of which may import from those before it, by their faces. */
const ROOMS = [
  'process',
  'telemetry',
  'database',
  'api',
  'data',
  'jobs',
  'safeguards',
  'server',
  'features',
  'docs',
];
/** The features of the product, each with those that it may import from. Others may import from all features. */
const FEATURES = {
  auth: ['telemetry', 'process', 'api', 'data', 'safeguards'].map(faceOf),
  categories: ['^src/auth/'],
  messages: ['^src/auth/'],
  pets: ['^src/auth/', '^src/categories/'],
  store: ['^src/auth/', '^src/categories/', '^src/pets/'],
};
const ANYWHERE = '^src/config\\.ts$';
/** All that features may use of the platform, and features of other teams of the product. */
const FACE = '^src/platform/index\\.ts$';
const PRODUCT = '^src/product\\.ts$';

/** What the other rooms may import of one. */
function faceOf(room) {
  return `^src/platform/${room}/index\\.ts$`;
}

/** Forbids imports from `src` but for some. */
const only = (name, from, allowed) => ({
  name: `imports of ${name}`,
  severity: 'error',
  from: { path: from },
  to: { path: '^src/', pathNot: [ANYWHERE, ...allowed] },
});
const features = Object.keys(FEATURES);

/**
 * Imports go one way, and nothing imports what imports it, not even its types.
 * @type {import('dependency-cruiser').IConfiguration}
 */
export default {
  forbidden: [
    ...ROOMS.map((name, i) =>
      only(name, `^src/platform/${name}/`, [`^src/platform/${name}/`, ...ROOMS.slice(0, i).map(faceOf)]),
    ),
    ...features.map((name) => only(name, `^src/${name}/`, [`^src/${name}/`, FACE, ...FEATURES[name]])),
    only(
      'a feature',
      `^src/(?!(?:${[...features, 'platform', 'migrations', 'commands', 'testing'].join('|')})/)[^/]+/`,
      ['^src/(?!(?:platform|migrations|commands|testing)/)[^/]+/', FACE, PRODUCT],
    ),
    only('commands', '^src/commands/', [
      '^src/commands/',
      '^src/[^/]+\\.ts$',
      ...features.map((name) => `^src/${name}/`),
      ...ROOMS.map(faceOf),
    ]),
    only('tests', '^src/testing/', ['^src/testing/', ...ROOMS.map(faceOf)]),
    {
      name: 'imports of testing',
      severity: 'error',
      from: { path: '^src/(?:migrations/|[^/]+$)' },
      to: { path: '^src/testing/' },
    },
    { name: 'circles', severity: 'error', from: {}, to: { circular: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { conditionNames: ['source', 'import'], exportsFields: ['exports'] },
    doNotFollow: 'node_modules',
  },
};
