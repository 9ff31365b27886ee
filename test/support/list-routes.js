import { assembleApplication, initialise } from '../../dist/src/commands/serve/serve.js';
import { readConfig } from '../../dist/src/config.js';
import { loadParts } from '../../dist/src/load-features.js';
import { openLog } from '../../dist/src/platform/telemetry/log.js';

// Prints every route of the service's router, as JSON: ["GET /v1/pets", …].
const config = readConfig(process.env);
const log = await openLog(config);
const parts = await loadParts();
const app = await parts.features.run(async () => {
  const assembled = await assembleApplication(config, log, parts);
  await initialise(assembled, config);
  return assembled;
});
const { stack } = app.getHttpAdapter().getInstance().router;
// Leaves out `_all`, the handlers that answer wrong methods.
const routes = stack.flatMap(({ route }) =>
  Object.keys(route?.methods ?? {})
    .filter((method) => method !== '_all')
    .map((method) => `${method.toUpperCase()} ${route.path}`),
);
console.log(JSON.stringify(routes));
await app.close();
