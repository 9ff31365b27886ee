import { execFile, type ExecFileOptions } from 'node:child_process';
import { promisify } from 'node:util';

/** The languages of code samples, each with the command that runs one. */
export const LANGUAGES: Record<string, (source: string) => [command: string, args: string[]]> = {
  curl: (source) => ['bash', ['-c', source]],
  TypeScript: (source) => [process.execPath, ['--input-type=module-typescript', '-e', source]],
};

/** Runs samples of a language one after the other, in one process; returns what they print. */
export async function runSamples(
  label: string,
  sources: string[],
  options: ExecFileOptions,
): Promise<string> {
  const all = sources.map((source) => (label === 'TypeScript' ? `{\n${source}\n}` : source)).join('\n');
  const { stdout } = await promisify(execFile)(...LANGUAGES[label]!(all), options);
  return String(stdout);
}
