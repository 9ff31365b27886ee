import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '../../src/testing/client.js';
import { freePorts } from '../support/ports.js';
import { type Service, startService } from '../../src/testing/service.js';
import { DatabaseServer } from './support/database-server.js';
import { countMissing, durationOf, PATIENCE_MS } from './support/fault.js';
import { record } from './support/figures.js';
import { Haproxy, hasHaproxy } from '../support/haproxy.js';
import { ReadLoad, WriteLoad } from './support/load.js';

/** From the start of an instance until the proxy sends it requests, with time to serve some. */
const SETTLE_MS = 2_000;
const ROUNDS = 2;
if (!hasHaproxy) console.warn('The rolling restart is skipped: no haproxy is installed.');

let database: DatabaseServer;
beforeAll(async () => (database = await DatabaseServer.start()));
afterAll(() => database.stop());

(hasHaproxy ? test : test.skip)(
  'No request fails while three instances behind HAProxy are restarted one by one under load',
  async () => {
    const [proxyPort, ...ports] = await freePorts(4);
    const start = (port: number) =>
      startService({ DATABASE_URL: database.url, PORT: String(port), TRUST_PROXY: '1' });
    const instances: Service[] = await Promise.all(ports.map(start));
    const key = await createKey(instances[0]!);
    const proxy = await (await Haproxy.start(proxyPort!, ports)).untilReady();
    const writes = new WriteLoad(proxy.url, key, { clients: 8 });
    const reads = new ReadLoad([proxy.url], key, { clients: 8 });
    await sleep(SETTLE_MS);
    for (let restart = 0; restart < ROUNDS * ports.length; restart++) {
      const i = restart % ports.length;
      expect(await instances[i]!.stop()).toBe(0);
      instances[i] = await start(ports[i]!);
      await sleep(SETTLE_MS);
    }
    await Promise.all([writes.stop(), reads.stop()]);
    await proxy.stop();
    await Promise.all(instances.map((instance) => instance.stop()));
    const all = [...writes.outcomes, ...reads.outcomes];
    const failed = all.filter(({ status }) => status < 200 || status > 299);
    const missing = await countMissing(database.url, writes.acknowledged);
    const slowest = Math.round(Math.max(...all.map(durationOf)));
    record(
      `${ROUNDS * ports.length} restarts behind HAProxy`,
      all,
      `slowest ${slowest} ms; ${writes.acknowledged.length} acknowledged; ${missing} missing`,
      `${all.length} requests, ${failed.length} failed`,
    );
    expect(
      failed.map(({ method, path, status, failure, body }) => [method, path, status, failure ?? body]),
    ).toEqual([]);
    expect(missing).toBe(0);
    expect(slowest).toBeLessThan(PATIENCE_MS);
  },
);
