import { execFileSync } from 'node:child_process';
import { TestEnvironment } from 'jest-environment-node';

/** A run that was killed cannot tell its other processes to end; they are cut off from it. */
const exit = () => process.exit(1);

/** Ends what the tests of a file have started and left, also where one has failed before it could stop what it had started. */
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

/**
 * The ids of all processes that this one has started, and of those that they have started.
 * @param others which do not count, nor what they have started since: PostgreSQL serves the next file too
 */
function descendants(others = new Set<number>()): number[] {
  const byParent = new Map<number, number[]>();
  for (const line of execFileSync('ps', ['-A', '-o', 'pid=,ppid=']).toString().trim().split('\n')) {
    const [pid, parent] = line.trim().split(/\s+/).map(Number) as [number, number];
    byParent.set(parent, [...(byParent.get(parent) ?? []), pid]);
  }
  const within = (parent: number): number[] =>
    (byParent.get(parent) ?? []).flatMap((pid) => (others.has(pid) ? [] : [pid, ...within(pid)]));
  return within(process.pid);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile, as the `ps` that told of it has.
  }
}
