import { once } from 'node:events';
import type { Profiler } from 'node:inspector/promises';
import type { Database } from './database.js';
import { Bench } from './measure.js';
import { OPERATIONS, type OperationName, takesPart } from './operations.js';
import type { Options } from './options.js';
import { type RunningServer, SERVERS, startServer } from './servers.js';

type Profile = Profiler.Profile;
type Node = Profiler.ProfileNode;

/** The packages of each layer; the dependencies of a package count as part of it. */
const PACKAGES: Record<string, string> = {
  express: 'Express and its router',
  router: 'Express and its router',
  'path-to-regexp': 'Express and its router',
  'body-parser': 'Express and its router',
  'raw-body': 'Express and its router',
  '@nestjs/core': 'Nest',
  '@nestjs/common': 'Nest',
  '@nestjs/platform-express': 'Nest',
  rxjs: 'Nest',
  '@nestjs/passport': 'Passport',
  passport: 'Passport',
  'passport-http-bearer': 'Passport',
  'class-validator': 'class-validator and class-transformer',
  'class-transformer': 'class-validator and class-transformer',
  typeorm: 'TypeORM',
  pg: 'pg',
  'pg-pool': 'pg',
  'pg-protocol': 'pg',
  'pg-types': 'pg',
};

/** Prints what each layer of each chosen server costs per request, in µs of CPU. */
export async function printLayers(database: Database, key: string, options: Options): Promise<void> {
  const flags = ['--import', new URL('profiler.js', import.meta.url).href];
  for (const name of options.servers) {
    const operations = (['list', 'get'] as const).filter(
      (operation) => options.operations.includes(operation) && takesPart(name, operation),
    );
    const server = await startServer(name, database.url, flags);
    const bench = new Bench(database, key);
    const columns = [];
    for (const operation of operations) columns.push(await profile(server, bench, operation, options));
    bench.close();
    await server.stop();
    print(SERVERS[name].title, operations, columns);
  }
}

/** µs per request of each layer. */
async function profile(server: RunningServer, bench: Bench, operation: OperationName, options: Options) {
  const [connections = 64] = options.connections;
  const seconds = options.seconds * options.rounds;
  await bench.load(server, operation, connections, seconds);
  await signal(server);
  const { serverCpu, requests } = await bench.measure(server, operation, connections, seconds);
  const recorded = (await signal(server)) as Profile;
  const layers = attribute(recorded);
  const perRequest = new Map([...layers].map(([layer, time]) => [layer, time / requests]));
  const accounted = perRequest.values().reduce((sum, time) => sum + time, 0);
  perRequest.set('other threads (compiler, garbage collector)', Math.max(0, serverCpu - accounted));
  return perRequest;
}

async function signal({ process: child }: RunningServer): Promise<unknown> {
  child.send({});
  return (await once(child, 'message'))[0];
}

/** Adds up the time between samples by the layer of the function that ran, without idle time. */
function attribute({ nodes, samples = [], timeDeltas = [] }: Profile): Map<string, number> {
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node])));
  const layers = new Map(nodes.map((node) => [node.id, layerOf(node, parents)]));
  const times = new Map<string, number>();
  samples.forEach((sample, i) => {
    const layer = layers.get(sample)!;
    // A sample's delta is the time since the one before it; the time until the next one belongs to it.
    if (layer !== '(idle)') times.set(layer, (times.get(layer) ?? 0) + (timeDeltas[i + 1] ?? 0));
  });
  return times;
}

function layerOf(node: Node, parents: Map<number, Node>): string {
  const { url, functionName } = node.callFrame;
  if (functionName === '(garbage collector)') return 'garbage collector';
  if (functionName === '(program)') return 'native code (system calls, event loop)';
  if (url.startsWith('node:')) return nodeLayer(url);
  const folder = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1];
  if (folder) return PACKAGES[folder] ?? 'other packages';
  if (url) return "the server's own code";
  // Built-in functions, such as those of JSON, belong to their callers.
  const parent = parents.get(node.id);
  return parent && functionName !== '(idle)' ? layerOf(parent, parents) : functionName;
}

function nodeLayer(url: string): string {
  if (/_http_|internal\/http/.test(url)) return 'Node: HTTP';
  if (/net|stream|timers/.test(url)) return 'Node: sockets, streams, timers';
  if (/task_queues|async/.test(url)) return 'Node: promises';
  if (/url|querystring/.test(url)) return 'Node: URLs';
  if (/buffer|encoding/.test(url)) return 'Node: buffers and text';
  return 'Node: other';
}

function print(title: string, operations: OperationName[], columns: Map<string, number>[]): void {
  const layers = [...new Set(columns.flatMap((column) => [...column.keys()]))];
  const time = (layer: string) => columns.map((column) => column.get(layer) ?? 0);
  const rows = layers
    .map((layer) => ({ layer, times: time(layer) }))
    .toSorted((a, b) => (b.times[0] ?? 0) - (a.times[0] ?? 0));
  const sums = columns.map((column) => column.values().reduce((sum, one) => sum + one, 0));
  const line = (name: string, cells: string[]) =>
    name.padEnd(46) + cells.map((cell) => cell.padStart(18)).join('');
  console.log(
    `\n${line(
      `${title}, µs per request`,
      operations.map((name) => OPERATIONS[name].title),
    )}`,
  );
  for (const { layer, times } of [...rows, { layer: 'sum', times: sums }]) {
    console.log(
      line(
        layer,
        times.map((one) => one.toFixed(1)),
      ),
    );
  }
}
