import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from '../../support/npm.js';

const FOLDER = join(ROOT, 'deploy/compose');
const PATH = `${process.env.PATH}:/usr/sbin`;

export const hasHaproxy = spawnSync('haproxy', ['-v'], { env: { PATH } }).status === 0;

/** HAProxy as `deploy/compose` configures it, in front of services on ports of this machine. */
export class Haproxy {
  private constructor(
    private readonly process: ChildProcess,
    readonly url: string,
  ) {}

  static async start(port: number, instances: number[]): Promise<Haproxy> {
    const servers = instances.map((instance, i) => `server api${i + 1} 127.0.0.1:${instance}`);
    const config = readFileSync(join(FOLDER, 'haproxy.cfg'), 'utf8')
      .replace('bind :8080', `bind 127.0.0.1:${port}`)
      .replace(/server-template .*/, servers.join('\n  '));
    const file = join(process.env.FAULTS_FOLDER!, 'haproxy.cfg');
    writeFileSync(file, config);
    const child = spawn('haproxy', ['-db', '-f', file], { cwd: FOLDER, env: { PATH }, stdio: 'ignore' });
    const url = `http://127.0.0.1:${port}`;
    while (!(await fetch(`${url}/health/ready`).catch(() => undefined))?.ok) {
      if (child.exitCode !== null) throw new Error(`HAProxy has ended with ${child.exitCode}`);
      await sleep(50);
    }
    return new Haproxy(child, url);
  }

  async stop(): Promise<void> {
    const exit = once(this.process, 'exit');
    this.process.kill('SIGTERM');
    await exit;
  }
}
