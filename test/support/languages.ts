import { spawnSync } from 'node:child_process';

/** The languages of code samples, each with the command that runs one. */
export const LANGUAGES: Record<string, (source: string) => [command: string, args: string[]]> = {
  curl: (source) => ['bash', ['-c', source]],
  TypeScript: (source) => [process.execPath, ['--input-type=module-typescript', '-e', source]],
  Python: (source) => ['python3', ['-c', source]],
};

export const hasPython = spawnSync('python3', ['--version']).status === 0;
/** Whether samples in Python can be run: they use `requests`. */
export const hasRequests = spawnSync('python3', ['-c', 'import requests']).status === 0;
