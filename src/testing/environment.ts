import { execFileSync } from 'node:child_process';
import { TestEnvironment } from 'jest-environment-node';

/** A killed run cannot end its worker processes, so each ends itself when it is disconnected. */
const exit = () => process.exit(1);

/** Ends the processes that the tests of a file left, also after a failure. */
export default class extends TestEnvironment {
  private before = new Set<number>();
  private readonly end = () => descendants(this.before).forEach(kill);

  override async setup(): Promise<void> {
    await super.setup();
    this.before = new Set(descendants());
    process.once('exit', this.end);
    process.once('disconnect', exit);
  }

  override async teardown(): Promise<void> {
    process.off('exit', this.end);
    process.off('disconnect', exit);
    this.end();
    await super.teardown();
  }
}

/** All descendants of this process except excluded ones and their descendants: PostgreSQL serves the next file too. */
function descendants(excluded = new Set<number>()): number[] {
  const byParent = new Map<number, number[]>();
  for (const line of execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString().trim().split('\n')) {
    const [pid, parent] = line.trim().split(/\s+/).map(Number) as [number, number];
    byParent.set(parent, [...(byParent.get(parent) ?? []), pid]);
  }
  const within = (parent: number): number[] =>
    (byParent.get(parent) ?? []).flatMap((pid) => (excluded.has(pid) ? [] : [pid, ...within(pid)]));
  return within(process.pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has ended meanwhile, as `ps` itself has.
  }
}
