import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './npm.js';

export const SCRIPTS = join(ROOT, 'deploy/postgres');
export const hasPsql = spawnSync('psql', ['--version']).status === 0;
if (!hasPsql) console.warn('The scripts of deploy/postgres are not tested: no psql is installed.');

/**
 * Runs SQL by psql, as the operator does: it goes on after an error unless the script says otherwise.
 * @param script the name of a file of deploy/postgres, or SQL, which psql reads from its input
 */
export function psql(
  url: string,
  script: string,
  env: Record<string, string> = {},
): Promise<{ code: number; stderr: string }> {
  const isFile = /^[\w-]+\.sql$/.test(script);
  const args = ['--quiet', '--no-psqlrc', ...(isFile ? [`--file=${join(SCRIPTS, script)}`] : []), url];
  return new Promise((resolve) => {
    const all = { PATH: process.env.PATH, ...env };
    const child = execFile('psql', args, { env: all }, (error, _stdout, stderr) =>
      resolve({ code: error ? Number(error.code ?? 1) : 0, stderr }),
    );
    child.stdin!.end(isFile ? '' : script);
  });
}
