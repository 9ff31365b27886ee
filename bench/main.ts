import { parseArgs } from 'node:util';
import { AUDIENCE, Issuer } from '../test/support/issuer.js';
import { Database } from './database.js';
import { requireEqualAnswers } from './equality.js';
import { Bench, type Measurement } from './measure.js';
import { OPERATIONS, type OperationName, takesPart } from './operations.js';
import { createKey, type RunningServer, type ServerName, SERVERS, startServer, stopAll } from './servers.js';
import { summarize } from './summary.js';
import { provenance } from './table.js';

/** The load of each operation on each server before the first measurement, so that V8 has compiled the code. */
const WARM_UP = { connections: 16, rounds: 2 };

// Short rounds, so that other load on the machine affects all servers equally.
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: Object.keys(OPERATIONS).join() },
    servers: { type: 'string', default: 'service,http,transaction,statement' },
    connections: { type: 'string', default: '1,16,64' },
    rounds: { type: 'string', default: '7' },
    seconds: { type: 'string', default: '1' },
  },
});

/** The identity provider that signs the tokens for the service. */
let issuer: Issuer | undefined;

try {
  const operations = pick('only', values.only, Object.keys(OPERATIONS) as OperationName[]);
  const servers = pick('servers', values.servers, Object.keys(SERVERS) as ServerName[]);
  await run(operations, servers, await Database.create());
} finally {
  await stopAll();
  await issuer?.stop();
  await Database.closeAll();
}

async function run(operations: OperationName[], names: ServerName[], database: Database): Promise<void> {
  // The service comes first: it creates the schema, and all answers are compared with its answers.
  const service = await startServer('service', database.url);
  const key = await createKey(service);
  await database.seed();
  const peers = names.filter((name) => name !== 'service' && operations.some((one) => takesPart(name, one)));
  const servers = [service, ...(await Promise.all(peers.map((name) => startPeer(name, database.url))))];
  const count = await requireEqualAnswers(servers, key, database);
  console.log(`${servers.length} servers give the same ${count} answers.`);
  const bench = new Bench(database, key);
  for (const server of servers)
    for (const operation of operations.filter((one) => takesPart(server.name, one)))
      await bench.load(server, operation, WARM_UP.connections, WARM_UP.rounds * Number(values.seconds));
  console.log(`\n${provenance(database.version)}: medians of ${values.rounds} rounds of ${values.seconds} s`);
  for (const connections of values.connections.split(',').map(Number))
    await compare(bench, servers, operations, connections, database);
  bench.close();
}

async function compare(
  bench: Bench,
  servers: RunningServer[],
  operations: OperationName[],
  connections: number,
  database: Database,
): Promise<void> {
  const rounds = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
  const measurements: Measurement[] = [];
  for (const operation of operations) {
    await database.settle();
    console.error(`${OPERATIONS[operation].title}, ${connections} connections …`);
    measurements.push(...(await bench.compare(servers, operation, connections, rounds)));
  }
  const loader = measurements.map(({ cpu }) => Math.round(cpu));
  console.log(`\n## ${connections} connections\n\n${summarize(measurements)}\n`);
  console.log(
    `The load generator took ${Math.min(...loader)} to ${Math.max(...loader)} µs of CPU a request.`,
  );
}

/** Starts a peer, or the service with an identity provider. */
async function startPeer(name: ServerName, databaseUrl: string): Promise<RunningServer> {
  if (name !== 'token') return startServer(name, databaseUrl);
  issuer = await Issuer.start();
  const env = { OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE };
  const server = await startServer(name, databaseUrl, env);
  return { ...server, bearer: await issuer.token({ scope: 'pets:read', exp: Date.now() / 1_000 + 86_400 }) };
}

/** Picks names from an option, in the order of the tables. */
function pick<Name extends string>(option: string, text: string, all: Name[]): Name[] {
  const names = text.split(',') as Name[];
  const unknown = names.filter((name) => !all.includes(name));
  if (unknown.length > 0) throw new Error(`--${option} takes ${all.join(', ')}; not ${unknown.join(', ')}`);
  return all.filter((name) => names.includes(name));
}
