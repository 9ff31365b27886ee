import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** The folder of this checkout. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const runs: Run[] = [];
const folders: string[] = [];

type Environment = Record<string, string>;

export class Told {
  constructor(
    readonly api: string,
    readonly docs: string,
    readonly data: string,
    readonly key: string,
  ) {}

  /** Lists animals with a key; returns the status, and the names in the list. */
  async listPets(key = this.key): Promise<{ status: number; names: string[] }> {
    const response = await fetch(`${this.api}/pets`, { headers: { Authorization: `Bearer ${key}` } });
    const pets = (response.ok ? await response.json() : []) as { name: string }[];
    return { status: response.status, names: pets.map(({ name }) => name) };
  }

  async createPet(name: string): Promise<void> {
    const headers = { Authorization: `Bearer ${this.key}`, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ name, categoryId: 1 });
    const { status } = await fetch(`${this.api}/pets`, { method: 'POST', headers, body });
    expect(status).toBe(201);
  }
}

export interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
const SURROUNDINGS = { PATH, HOME, NODE_COMPILE_CACHE };

/** Runs a Node program to its end, with as little of this process's environment as possible. */
export function runNode(
  args: string[],
  { env = {}, input = '', cwd = ROOT }: { env?: Environment; input?: string; cwd?: string } = {},
): Promise<Ended> {
  const all = { ...SURROUNDINGS, ...env };
  return new Promise((resolve) => {
    const options = { cwd, env: all, maxBuffer: 2 ** 26 };
    const { stdin } = execFile(process.execPath, args, options, (error, stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
    );
    // A program may end without reading its input.
    stdin!.on('error', () => {}).end(input);
  });
}

/** A start of the service, in a process group of its own as in a terminal. */
export class Run {
  stdout = '';
  stderr = '';
  /** The exit code, or the name of the signal that ended the process. */
  readonly end: Promise<number | string>;
  private readonly process: ChildProcess;

  constructor(program: string, args: string[], env: Environment, cwd = ROOT) {
    const all = { ...SURROUNDINGS, PORT: '0', ...env };
    this.process = spawn(program, args, { cwd, env: all, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    this.process.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.process.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.end = once(this.process, 'exit').then(([code, signal]) => code ?? signal);
    runs.push(this);
  }

  async ready(): Promise<Told> {
    const isOver = () => this.process.exitCode !== null || this.process.signalCode !== null;
    await eventually(() => isOver() || /running[^]*Data .*\n[^]*\n$/.test(this.stdout));
    if (isOver()) throw new Error(`The service has ended with ${await this.end}: ${this.stderr}`);
    const row = (name: string) => new RegExp(`^ +${name} +(.+)$`, 'm').exec(this.stdout)?.[1] ?? '';
    return new Told(row('API'), row('Swagger UI'), row('Data'), row('Demo key'));
  }

  signal(name: NodeJS.Signals): void {
    this.process.kill(name);
  }

  /** Signals the process group, as Ctrl-C in a terminal does. */
  signalGroup(name: NodeJS.Signals): void {
    signalIfThere(-this.process.pid!, name);
  }

  /** Ends the service with SIGTERM; the exit code must be 0. */
  async stop(): Promise<void> {
    this.signal('SIGTERM');
    expect(await this.end).toBe(0);
  }

  /** Expects exit code 1, and returns the output on stderr. */
  async failure(): Promise<string> {
    expect((await once(this.process, 'close'))[0]).toBe(1);
    return this.stderr;
  }
}

export function npmStart(env: Environment): Run {
  return new Run('npm', ['start'], { npm_config_update_notifier: 'false', ...env });
}

/** A start without npm, so that a signal reaches the service alone; `cwd` may be another checkout. */
export function nodeStart(env: Environment, cwd = ROOT): Run {
  return new Run(process.execPath, ['dist/src/main.js'], env, cwd);
}

/** A new folder that is closed to other users. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-process-'));
  folders.push(folder);
  return folder;
}

/** The PostgreSQL processes that use a folder or one in it. */
export function postgresOn(folder: string): number[] {
  const all = execFileSync('ps', ['-eww', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  const found = all
    .filter((line) => line.includes(folder))
    .map((line) => line.trim().split(/\s+/, 2).map(Number) as [pid: number, parent: number]);
  // A process that the server has just forked still has the server's arguments.
  const pids = new Set(found.map(([pid]) => pid));
  return found.flatMap(([pid, parent]) => (pids.has(parent) ? [] : [pid]));
}

export async function isServed(url: string): Promise<boolean> {
  return (await fetch(url).catch(() => undefined)) !== undefined;
}

export function signalPostgresOn(folder: string, name: NodeJS.Signals): void {
  for (const pid of postgresOn(folder)) signalIfThere(pid, name);
}

/** Kills what a test has left running, except databases: `removeFolders` stops those. */
export function endRuns(): void {
  for (const run of runs.splice(0)) run.signalGroup('SIGKILL');
}

/** Stops the databases still running on the folders of `newFolder`, and removes the folders. */
export async function removeFolders(): Promise<void> {
  for (const folder of folders.splice(0)) {
    signalPostgresOn(folder, 'SIGQUIT');
    await eventually(() => postgresOn(folder).length === 0);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Sends a signal to a process; signal 0 only checks the process. False if the process has ended. */
export function signalIfThere(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** Resolves once a condition holds. */
export async function eventually(isSo: () => boolean | Promise<boolean>, withinMs = 100_000): Promise<void> {
  for (const deadline = Date.now() + withinMs; !(await isSo()); await sleep(50)) {
    if (Date.now() > deadline) throw new Error(`Not so within ${withinMs} ms: ${isSo.toString()}`);
  }
}
