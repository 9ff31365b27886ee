import { execFile, type ExecFileOptions } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createKey } from '../../src/testing/client.js';
import {
  exampleOf,
  inWorkingOrder,
  operations,
  type Placed,
  statusesOf,
} from '../../src/testing/document.js';
import { Examples } from '../../src/testing/examples.js';
import type { TestedService } from '../../src/testing/service.js';
import { newFolder } from './npm.js';

const run = promisify(execFile);

/** The languages of code samples, each with the command that runs one. */
export const LANGUAGES: Record<string, (source: string) => [command: string, args: string[]]> = {
  // If its input is a socket, Bash assumes a remote login, and would read the user's start-up file.
  curl: (source) => ['bash', ['--norc', '-c', source]],
  TypeScript: (source) => [process.execPath, ['--input-type=module-typescript', '-e', source]],
};

export async function runSources(
  label: string,
  sources: string[],
  options: ExecFileOptions,
): Promise<string> {
  const all = sources.map((source) => (label === 'TypeScript' ? `{\n${source}\n}` : source)).join('\n');
  const { stdout } = await run(...LANGUAGES[label]!(all), options);
  return String(stdout);
}

/** Runs each operation's sample in a language, unchanged, with earlier samples' results, on a new service. */
export async function runSamples(service: TestedService, label: string): Promise<void> {
  const folder = newFolder();
  // The samples run as they are; only curl is told to print the status too.
  writeFileSync(join(folder, '.curlrc'), 'silent\nwrite-out = "\\n%{http_code}"\n');
  const signUp = operations.find(({ operation }) => operation.operationId === 'createAccount')!;
  const { email, password } = exampleOf(signUp) as { email: string; password: string };
  const env: Record<string, string> = { EMAIL: email, PASSWORD: password, API_KEY: '', CURL_HOME: folder };
  const examples = new Examples();
  for (const one of inWorkingOrder(operations)) {
    const { source } = samplesOf(one).find((sample) => sample.label === label) ?? {};
    // The document has no samples for binary bodies and answers.
    if (source === undefined) {
      expect(statusesOf(one)).toContain((await examples.send(service, one, { key: env.API_KEY })).status);
      continue;
    }
    expect(source).toMatch(/http:\/\/localhost:3000\/v\d+\//);
    const here = examples.fill(source.replaceAll('http://localhost:3000', service.url));
    const [command, args] = LANGUAGES[label]!(here);
    const options = { cwd: folder, env: { PATH: process.env.PATH, ...env } };
    const { operationId } = one.operation;
    if (isEndless(one)) {
      await expect(run(command, args, { ...options, timeout: 3_000 })).rejects.toMatchObject({
        killed: true,
        stdout: expect.not.stringContaining('"code"'),
      });
      continue;
    }
    const { stdout } = await run(command, args, options);
    const status = label === 'curl' ? stdout.split('\n').at(-1) : stdout.trim().split(/\s/)[0];
    const successes = statusesOf(one).map((success) => `${operationId} ${success}`);
    expect(successes).toContain(`${operationId} ${status}`);
    // Two keys are needed: one revokes itself, the other is revoked by its id, 1 in the example.
    if (operationId === 'createAccount') await createKey(service, { email, password });
    env.API_KEY ||= /petstore_\w+/.exec(stdout)?.[0] ?? '';
    examples.learn(one, stdout);
  }
}

/** Whether an answer has no end until the client disconnects. */
function isEndless({ operation }: Placed): boolean {
  return Object.values(operation.responses).some(({ content = {} }) => 'text/event-stream' in content);
}

function samplesOf({ operation }: Placed): { label: string; source: string }[] {
  return (operation['x-codeSamples'] ?? []) as { label: string; source: string }[];
}
