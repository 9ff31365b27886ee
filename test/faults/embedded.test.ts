import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKey } from '../../src/testing/client.js';
import { startService } from '../../src/testing/service.js';
import { countMissing, faultyOf } from './support/fault.js';
import { countStatuses, record } from './support/figures.js';
import { WriteLoad } from './support/load.js';

const CLIENTS = 4;
const TIMES = 3;
const RECOVERY_S = 15;

test.each(['1', '2'])(
  'The embedded PostgreSQL killed under load is served again within seconds, and loses nothing, with WORKERS=%s',
  async (WORKERS) => {
    const DATA_DIR = mkdtempSync(join(process.env.FAULTS_FOLDER!, 'embedded-'));
    const service = await startService({ DATABASE_URL: '', DATA_DIR, WORKERS });
    const pidFile = () => readFileSync(join(DATA_DIR, 'postgres/postmaster.pid'), 'utf8').split('\n');
    const load = new WriteLoad(service.url, await createKey(service), { clients: CLIENTS });
    const seconds: number[] = [];
    for (let i = 0; i < TIMES; i++) {
      await sleep(2_000);
      const killed = performance.now();
      process.kill(Number(pidFile()[0]), 'SIGKILL');
      // Sessions may still answer for a moment after their server.
      const refused = () => load.outcomes.find(({ begun, status }) => begun > killed && status === 503);
      const first = () => load.acknowledged.find(({ begun }) => begun > (refused()?.begun ?? Infinity));
      while (!first() && performance.now() - killed < RECOVERY_S * 1_000) await sleep(20);
      seconds.push(Number((((first()?.ended ?? Infinity) - killed) / 1_000).toFixed(2)));
    }
    await sleep(1_000);
    await load.stop();
    const password = readFileSync(join(DATA_DIR, 'password'), 'utf8');
    const url = `postgresql://petstore:${password}@127.0.0.1:${pidFile()[3]}/petstore`;
    const missing = await countMissing(url, load.acknowledged);
    expect(await service.stop()).toBe(0);
    record({
      fault: `Embedded PostgreSQL killed ${TIMES} times, WORKERS=${WORKERS}`,
      statuses: countStatuses(load.outcomes),
      'recovered s': Math.max(...seconds),
      acknowledged: load.acknowledged.length,
      missing,
      beside: `next success after ${seconds.join(', ')} s`,
    });
    expect(faultyOf(load.outcomes)).toEqual([]);
    expect(missing).toBe(0);
    expect(Math.max(...seconds)).toBeLessThan(RECOVERY_S);
  },
);
