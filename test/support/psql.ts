import { execFile, spawnSync } from 'node:child_process';

export const hasPsql = spawnSync('psql', ['--version']).status === 0;
if (!hasPsql) console.warn('deploy/postgres/roles.sql is not tested: no psql is installed.');

/** Runs SQL by psql, as operators do: psql continues after an error unless the script says otherwise. */
export function psql(
  url: string,
  script: string,
  env: Record<string, string> = {},
): Promise<{ code: number; stderr: string }> {
  return new Promise((resolve) => {
    const all = { PATH: process.env.PATH, ...env };
    const child = execFile('psql', ['--quiet', '--no-psqlrc', url], { env: all }, (error, _stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stderr }),
    );
    child.stdin!.end(script);
  });
}
