/** The rooms of `src/platform`, each of which may import from those before it. */
const ROOMS = ['process', 'telemetry', 'database', 'api', 'data', 'jobs', 'access', 'server', 'docs'];
/** What a feature is made of. */
const FOR_FEATURES = ['telemetry', 'api', 'data', 'jobs', 'access'];
/** The features of the product, each with those that it may import from. Others may import from all of these. */
const FEATURES = {
  auth: ['platform/process'],
  categories: ['auth'],
  messages: ['auth'],
  pets: ['auth', 'categories'],
  store: ['auth', 'categories', 'pets'],
};
const ANYWHERE = '^src/config\\.ts$';

/** Forbids imports from `src` but for those from some folders. */
const only = (name, folder, allowed) => ({
  name: `imports of ${name}`,
  severity: 'error',
  from: { path: `^src/${folder}/` },
  to: { path: '^src/', pathNot: [ANYWHERE, ...allowed.map((one) => `^src/${one}/`)] },
});
const room = (name) => `platform/${name}`;
const forFeatures = FOR_FEATURES.map(room);
const features = Object.keys(FEATURES);

/**
 * Imports go one way, and nothing imports what imports it, not even its types.
 * @type {import('dependency-cruiser').IConfiguration}
 */
export default {
  forbidden: [
    ...ROOMS.map((name, i) => only(name, room(name), ROOMS.slice(0, i + 1).map(room))),
    ...features.map((name) => only(name, name, [name, ...FEATURES[name], ...forFeatures])),
    only('a feature', `(?!(?:${[...features, 'platform', 'migrations'].join('|')})/)([^/]+)`, [
      '$1',
      ...features,
      ...forFeatures,
    ]),
    { name: 'circles', severity: 'error', from: {}, to: { circular: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: 'node_modules',
  },
};
