import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

// /proc counts in ticks (proc_pid_stat(5)); Linux has 100 a second wherever Node runs.
const TICK_US = 1e6 / 100;

/** CPU time of a process so far in µs, user and system; NaN if the platform cannot tell. */
export function cpuOf(pid: number): number {
  const times = readTimes(pid);
  return times ? (times.user + times.system) * TICK_US : NaN;
}

/** CPU time in µs of a process and all it has started, whether they still run or not. */
export function cpuOfFamily(parent: number | undefined): number {
  const times = parent === undefined ? undefined : readTimes(parent);
  if (!times) return NaN;
  const ended = times.endedChildrenUser + times.endedChildrenSystem;
  const running = childrenOf(parent!).map((pid) => cpuOf(pid) || 0);
  return (times.user + times.system + ended) * TICK_US + running.reduce((sum, cpu) => sum + cpu, 0);
}

/** Memory of a process in MB (resident set); NaN if the platform cannot tell. */
export function memoryOf(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  } catch {
    return NaN;
  }
}

/** The most memory that a process has had in MB, since the last call of `forgetPeak`; NaN if the platform cannot tell. */
export function peakOf(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  } catch {
    return NaN;
  }
}

export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Then it is the most since the start.
  }
}

/** The commit of the working copy, marked if the service's sources differ from it. */
export function commit(): string {
  try {
    const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
    const isChanged = git('status', '--porcelain', 'src', 'package.json') !== '';
    return git('rev-parse', '--short', 'HEAD') + (isChanged ? ' with changes' : '');
  } catch {
    return 'unknown';
  }
}

function readTimes(pid: number) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in parentheses and may contain anything; fields 14 to 17 are the times.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    const [user = 0, system = 0, endedChildrenUser = 0, endedChildrenSystem = 0] = fields.slice(11, 15);
    return { user, system, endedChildrenUser, endedChildrenSystem };
  } catch {
    return undefined;
  }
}

function childrenOf(pid: number): number[] {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return pids ? pids.split(' ').map(Number) : [];
}
