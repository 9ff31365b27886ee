import cluster from 'node:cluster';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { Config, readConfig } from './config.js';
import { loadParts, type PetstoreOptions } from './load-features.js';
import { OperatorError } from './platform/process/index.js';

/**
 * The environment of this process, with what a file `.env` adds to it. Warns of what seems meant for the service, and is
 * not read.
 * @param options of the service, whose features say which permissions there are
 * @throws OperatorError if the file cannot be read, or as `readConfig` does
 */
export async function loadConfig(options: PetstoreOptions = {}): Promise<Config> {
  const file = resolve('.env');
  const text = existsSync(file) ? readText(file) : '';
  if (cluster.isPrimary)
    for (const line of warningsOf(text, Object.keys(process.env))) console.warn(`petstore: ${line}`);
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value;
  // They take a third of a second to load.
  if (process.env.ACCOUNT_PERMISSIONS) await loadParts(options);
  const config = readConfig(process.env);
  if (cluster.isPrimary) for (const line of warningsOfIssuer(config)) console.warn(`petstore: ${line}`);
  return config;
}

/** As `URL.hostname` writes the hosts of this machine. */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** What is wrong with how the identity provider is reached. */
export function warningsOfIssuer({ OIDC_ISSUER = '' }: Config): string[] {
  const { protocol, hostname = '' } = URL.parse(OIDC_ISSUER) ?? {};
  if (protocol !== 'http:' || LOOPBACK.test(hostname)) return [];
  return [
    'OIDC_ISSUER is reached by http: whoever is on the way can send keys of their own, and so sign in as anybody. Use https.',
  ];
}

/**
 * The text of a file, without a byte order mark.
 * @throws OperatorError unless it is UTF-8. UTF-16, which some editors of Windows write, has bytes that UTF-8 has not, or NUL.
 */
export function readText(file: string): string {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
    if (!text.includes('\0')) return text;
  } catch (error) {
    const { syscall, message } = error as NodeJS.ErrnoException;
    if (syscall) throw new OperatorError(`The file ${file} cannot be read: ${message}.`);
  }
  throw new OperatorError(`The file ${file} is not UTF-8. Save it with that encoding.`);
}

const KNOWN = Object.keys(new Config());
const FIRST_WORDS = new Set(KNOWN.map(firstWord));
/** Known in any spelling: `signUp`, `SIGNUP`. */
const LETTERS = new Set(KNOWN.map(lettersOf));
/** Names of the environment that other programs hardly have, apart from those that Kubernetes gives each container for a service. */
const OURS_ALONE = /^(?:DATABASE|MESSAGES|OIDC|SIGN)_(?!SERVICE_|PORT)/;
const NAME = /^[\w.-]+$/;
/** The rest of an assignment whose value is quoted, which may have several lines. */
const QUOTED = /=[ \t]*(["'`])[^]*?\1/g;

/**
 * What is wrong with a `.env` and the names of the environment. It may be a secret, so values and stray lines are not shown.
 * @param names those of the environment, before the file is added
 */
export function warningsOf(text: string, names: string[]): string[] {
  const lines = text.replaceAll(QUOTED, (value) => `=${value.replaceAll(/[^\n]/g, '')}`).split('\n');
  const stray = lines.flatMap((line, i) =>
    /^\s*(?:#|$)/.test(line) || Object.keys(parseEnv(line)).some((name) => NAME.test(name)) ? [] : [i + 1],
  );
  const inFile = Object.keys(parseEnv(text)).filter(isMeantForService);
  const inEnvironment = names.filter((name) => OURS_ALONE.test(name) && isMeantForService(name));
  return [
    ...stray.map((number) => `Line ${number} of .env is no assignment (NAME=value), and is ignored.`),
    ...new Set(
      [...inFile, ...inEnvironment].map((name) => `${name} is set, but the service has no such variable.`),
    ),
  ];
}

/** Whether a name is none of the service's, and begins like one. Those of OpenTelemetry are read by its library. */
function isMeantForService(name: string): boolean {
  if (KNOWN.includes(name) || name.startsWith('OTEL_')) return false;
  return FIRST_WORDS.has(firstWord(name)) || LETTERS.has(lettersOf(name));
}

function firstWord(name: string): string {
  return name.split('_')[0]!;
}

function lettersOf(name: string): string {
  return name.replaceAll('_', '').toUpperCase();
}
