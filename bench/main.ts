import { createKey } from './account.js';
import { Database } from './database.js';
import { requireEqualAnswers } from './equality.js';
import { measureGrowth } from './growth.js';
import { printLayers } from './layers.js';
import { Bench, type Measurement } from './measure.js';
import { OPERATIONS, takesPart } from './operations.js';
import { type Options, readOptions } from './options.js';
import { toText, writeReport } from './report.js';
import { type RunningServer, startServer, stopAll } from './servers.js';
import { summarize } from './summary.js';

/** Load of every kind on every server before anything is measured, so that its code is compiled. */
const WARM_UP = { connections: 16, seconds: 2 };

let isEnding = false;

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void end(1));
try {
  const options = readOptions(process.argv.slice(2));
  if (options.growth) await measureGrowth(options.out);
  else await run(options, await Database.create());
  await end(0);
} catch (error) {
  if (!isEnding) console.error(`bench: ${error instanceof Error ? error.message : String(error)}`);
  await end(1);
}

async function run(options: Options, on: Database): Promise<void> {
  // The service first: it creates the schema, and every answer is compared with its own.
  const service = await startServer('service', on.url);
  const servers = [service];
  const key = await createKey(service.url);
  await on.seed();
  if (options.layers) return printLayers(on, key, options);
  const taking = options.servers.filter((name) => options.operations.some((one) => takesPart(name, one)));
  if (taking.length === 0) throw new Error('none of --servers takes part in any of --only');
  const peers = taking.filter((name) => name !== 'service');
  servers.push(...(await Promise.all(peers.map((name) => startServer(name, on.url)))));
  const count = await requireEqualAnswers(servers, key, on);
  console.log(`${servers.length} servers give the same ${count} answers.`);
  const measured = servers.filter(({ name }) => taking.includes(name));
  await compare(measured, new Bench(on, key), options, on);
}

async function compare(
  measured: RunningServer[],
  bench: Bench,
  options: Options,
  on: Database,
): Promise<void> {
  for (const server of measured) {
    const loads = options.operations.filter((operation) => takesPart(server.name, operation));
    for (const operation of loads) {
      // What the load before has left is done by then.
      await on.settle();
      await bench.load(server, operation, WARM_UP.connections, WARM_UP.seconds);
    }
  }
  const all: Measurement[] = [];
  for (const connections of options.connections) {
    const measurements: Measurement[] = [];
    for (const operation of options.operations) {
      await on.settle();
      console.log(`${OPERATIONS[operation].title}, ${connections} connections …`);
      measurements.push(...(await bench.compare(measured, operation, connections, options)));
    }
    all.push(...measurements);
    console.log(`\n${connections} connections\n${toText(summarize(measurements))}\n`);
  }
  bench.close();
  if (options.out) writeReport(summarize(all), options, on.version, options.out);
}

/** Stops everything that was started, once. */
async function end(code: number): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  await stopAll();
  await Database.closeAll();
  process.exit(code);
}
