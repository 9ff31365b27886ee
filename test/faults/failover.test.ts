import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '../../src/testing/client.js';
import { eventually } from '../support/npm.js';
import { Proxy } from '../support/proxy.js';
import { query, type Service, startService } from '../../src/testing/service.js';
import { DatabaseServer } from './support/database-server.js';
import { countMissing, faultyOf } from './support/fault.js';
import { record } from './support/figures.js';
import { type Outcome, WriteLoad } from './support/load.js';

const CLIENTS = 4;
/** From the fault to the promotion: how long whoever decides on that may need to notice it. */
const NOTICE_MS = 1_000;
/** From the moment at which the address leads to the new primary to the first write there. */
const FOLLOWED_S = 2;

let old: DatabaseServer;
let standby: DatabaseServer;
let address: Proxy;
let service: Service;
let key: string;
let load: WriteLoad;
let frozen: DatabaseServer | undefined;

/** A primary that acknowledges a commit when its standby has it too, and a service that knows an address of the primary. */
beforeEach(async () => {
  old = await DatabaseServer.start();
  standby = await DatabaseServer.follow(old);
  await waitForStandby(old);
  address = await Proxy.start(old.url);
  service = await startService({ DATABASE_URL: address.url });
  key = await createKey(service);
});
afterEach(async () => {
  frozen?.thaw();
  frozen = undefined;
  await load?.stop();
  await service?.stop();
  address?.stop();
  await standby?.stop();
  await old?.stop();
});

async function waitForStandby({ url }: DatabaseServer): Promise<void> {
  await query(url, `ALTER SYSTEM SET synchronous_standby_names = '*'`);
  await query(url, 'SELECT pg_reload_conf()');
  const sql = `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`;
  await eventually(async () => (await query(url, sql)).length === 1);
}

/** The longest time without an acknowledgement from a moment on, in seconds. */
function pauseFrom(moment: number, acknowledged: Outcome[]): number {
  const times = acknowledged.map(({ ended }) => ended).toSorted((a, b) => a - b);
  const gaps = times.flatMap((time, i) => (i > 0 && time > moment ? [time - times[i - 1]!] : []));
  return Math.max(...gaps) / 1_000;
}

/** Sessions of the service on a server, but for older ones that are stuck: they wait for a standby for ever. */
async function sessionsOn({ url }: DatabaseServer, since: Date): Promise<number> {
  const sql = `SELECT FROM pg_stat_activity WHERE application_name LIKE 'petstore%'
    AND (backend_start > $1 OR wait_event IS DISTINCT FROM 'SyncRep')`;
  return (await query(url, sql, [since])).length;
}

test.each([
  ['killed', () => old.kill(), async () => {}],
  [
    'frozen',
    () => (frozen = old).freeze(),
    // Nobody has fenced it: it still takes itself for the primary.
    async () => {
      const since = new Date();
      old.thaw();
      await eventually(async () => (await sessionsOn(old, since)) === 0);
      frozen = undefined;
      await old.kill();
    },
  ],
])(
  'Writes go on at the standby when the primary is %s, and nothing acknowledged is lost',
  async (how, begin, end) => {
    load = new WriteLoad(service.url, key, { clients: CLIENTS });
    await sleep(1_000);
    await begin();
    const begun = performance.now();
    await sleep(NOTICE_MS);
    const before = load.acknowledged.length;
    await query(standby.url, 'SELECT pg_promote()');
    const led = performance.now();
    address.lead(standby.url);
    await eventually(() => load.acknowledged.length > before);
    await end();
    await old.rejoin(standby);
    await waitForStandby(standby);
    const rejoined = load.acknowledged.length;
    await eventually(() => load.acknowledged.length > rejoined + CLIENTS);
    await load.stop();
    const { outcomes, acknowledged } = load;
    const after =
      (Math.min(...acknowledged.map(({ ended }) => (ended > led ? ended : Infinity))) - led) / 1_000;
    const pause = pauseFrom(begun, acknowledged);
    const missing = await countMissing(standby.url, acknowledged);
    record(
      `Primary ${how}, standby promoted after ${NOTICE_MS / 1_000} s`,
      outcomes,
      `${acknowledged.length} acknowledged; ${missing} missing`,
      `${pause.toFixed(2)} s without writes, the last ${after.toFixed(2)} after the address led to the standby`,
    );
    expect(before).toBeGreaterThan(0);
    expect(missing).toBe(0);
    expect(faultyOf(outcomes)).toEqual([]);
    expect(after).toBeLessThan(FOLLOWED_S);
  },
);
