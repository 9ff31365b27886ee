import { readFileSync, writeFileSync } from 'node:fs';

// All figures come from Linux's /proc; elsewhere they are NaN.

// /proc counts ticks, 100 a second (proc_pid_stat(5)).
const TICK_US = 1e6 / 100;

/** CPU time of a process in µs, user and system. */
export function cpuOf(pid: number): number {
  const { user, system } = timesOf(pid);
  return (user + system) * TICK_US;
}

/** CPU time in µs of a process and its descendants, ended ones included. */
export function cpuOfFamily(parent: number | undefined): number {
  if (parent === undefined) return NaN;
  const { endedUser, endedSystem } = timesOf(parent);
  const running = read(`/proc/${parent}/task/${parent}/children`).trim().split(' ').filter(Boolean);
  const children = running.map((pid) => cpuOf(Number(pid)) || 0);
  return cpuOf(parent) + (endedUser + endedSystem) * TICK_US + children.reduce((sum, cpu) => sum + cpu, 0);
}

/** Memory of a process in MB (resident set). */
export function memoryOf(pid: number): number {
  return megabytes(pid, 'VmRSS');
}

/** Peak memory of a process in MB since the last call of `forgetPeak`. */
export function peakOf(pid: number): number {
  return megabytes(pid, 'VmHWM');
}

export function forgetPeak(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Then `peakOf` returns the peak since the process started.
  }
}

function megabytes(pid: number, what: string): number {
  return Number(new RegExp(`^${what}:\\s+(\\d+)`, 'm').exec(read(`/proc/${pid}/status`))?.[1] ?? NaN) / 1024;
}

function timesOf(pid: number) {
  const stat = read(`/proc/${pid}/stat`);
  // The program's name, in parentheses, may contain anything; fields 14 to 17 are the times.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user = NaN, system = NaN, endedUser = NaN, endedSystem = NaN] = fields.slice(11, 15).map(Number);
  return { user, system, endedUser, endedSystem };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
