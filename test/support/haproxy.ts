import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ROOT } from './npm.js';

const CONFIG = join(ROOT, 'deploy/compose');
const PATH = `${process.env.PATH}:/usr/sbin`;

export const hasHaproxy = spawnSync('haproxy', ['-v'], { env: { PATH } }).status === 0;

/** HAProxy as `deploy/compose` configures it, in front of services on ports of this machine. */
export class Haproxy {
  private constructor(
    private readonly process: ChildProcess,
    private readonly folder: string,
    readonly url: string,
  ) {}

  /** @param timeouts replace time-outs of the configuration, by name */
  static async start(
    port: number,
    instances: number[],
    timeouts: Record<string, string> = {},
  ): Promise<Haproxy> {
    const servers = instances.map((instance, i) => `server api${i + 1} 127.0.0.1:${instance}`);
    let config = readFileSync(join(CONFIG, 'haproxy.cfg'), 'utf8')
      .replace('bind :8080', `bind 127.0.0.1:${port}`)
      .replace(/server-template .*/, servers.join('\n  '));
    for (const [name, time] of Object.entries(timeouts))
      config = config.replace(new RegExp(`timeout ${name} .*`), `timeout ${name} ${time}`);
    const folder = mkdtempSync(join(tmpdir(), 'petstore-haproxy-'));
    writeFileSync(join(folder, 'haproxy.cfg'), config);
    const args = ['-db', '-f', join(folder, 'haproxy.cfg')];
    const child = spawn('haproxy', args, { cwd: CONFIG, env: { PATH }, stdio: 'ignore' });
    const proxy = new Haproxy(child, folder, `http://127.0.0.1:${port}`);
    while (!(await isListening(port))) {
      if (child.exitCode !== null) throw new Error(`HAProxy has ended with ${child.exitCode}`);
      await sleep(20);
    }
    return proxy;
  }

  /** Resolves once HAProxy sends requests to a ready service. */
  async untilReady(): Promise<this> {
    while (!(await fetch(`${this.url}/health/ready`).catch(() => undefined))?.ok) await sleep(50);
    return this;
  }

  async stop(): Promise<void> {
    const exit = once(this.process, 'exit');
    this.process.kill('SIGTERM');
    await exit;
    rmSync(this.folder, { recursive: true });
  }
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.end());
  });
}
