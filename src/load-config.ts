import cluster from 'node:cluster';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { Config, readConfig } from './config.js';
import { loadParts, type PetstoreOptions } from './load-features.js';
import { OperatorError } from './platform/process/index.js';

/**
 * Reads the environment of this process and the file `.env`. Warns of names that look like misspelled variables of the
 * service.
 * @param options whose features define the permissions
 * @throws OperatorError if the file cannot be read, or as `readConfig` does
 */
export async function loadConfig(options: PetstoreOptions = {}): Promise<Config> {
  const file = resolve('.env');
  // Workers inherit the environment of the primary, which has variables removed that are meant for another database server.
  const text = cluster.isPrimary && existsSync(file) ? readText(file) : '';
  if (cluster.isPrimary)
    for (const line of warningsOf(text, Object.keys(process.env))) console.warn(`petstore: ${line}`);
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value;
  // Defaults for OpenTelemetry: the protocol that the service speaks, and a sampler that applies the share.
  process.env.OTEL_EXPORTER_OTLP_PROTOCOL ||= 'http/json';
  if (process.env.OTEL_TRACES_SAMPLER_ARG) process.env.OTEL_TRACES_SAMPLER ||= 'parentbased_traceidratio';
  // Loads the features only if they are needed: loading takes a third of a second.
  const config = process.env.ACCOUNT_PERMISSIONS
    ? (await loadParts(options)).features.run(() => readConfig(process.env))
    : readConfig(process.env);
  const warnings = [...warningsOfIssuer(config), ...warningsOfTelemetry(process.env)];
  if (cluster.isPrimary) for (const line of warnings) console.warn(`petstore: ${line}`);
  return config;
}

/** Variables of OpenTelemetry for metrics, logs and configuration files, which the service does not use. */
const NOT_FOR_TRACES =
  /^OTEL_(?:(?:EXPERIMENTAL_)?CONFIG_FILE|(?:METRICS|LOGS)_EXPORTER|EXPORTER_OTLP_(?:METRICS|LOGS)_\w+)$/;

/** Warns of variables of OpenTelemetry that have no effect. */
function warningsOfTelemetry(environment: Record<string, string | undefined>): string[] {
  const names = Object.entries(environment)
    .filter(([name, value]) => NOT_FOR_TRACES.test(name) && value && value !== 'none')
    .map(([name]) => name);
  if (names.length === 0) return [];
  return [
    `${names.join(', ')} ${names.length > 1 ? 'have' : 'has'} no effect: through OpenTelemetry, the service sends only traces.`,
  ];
}

/** Hosts of this machine, as `URL.hostname` writes them. */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/** Warns of an issuer that is reached over an insecure connection. */
export function warningsOfIssuer({ OIDC_ISSUER = '' }: Config): string[] {
  const { protocol, hostname = '' } = URL.parse(OIDC_ISSUER) ?? {};
  if (protocol !== 'http:' || LOOPBACK.test(hostname)) return [];
  return [
    'OIDC_ISSUER is reached by http: an attacker on the network can replace its keys, and sign in as anyone. Use https.',
  ];
}

/**
 * The text of a file, without a byte order mark.
 * @throws OperatorError unless it is UTF-8; UTF-16, as some Windows editors write it, has invalid bytes or NUL
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

const VARIABLES = Object.keys(new Config());
const FIRST_WORDS = new Set(VARIABLES.map(firstWord));
/** The variables' letters alone, to recognize other spellings: `signUp`, `SIGNUP`. */
const LETTERS = new Set(VARIABLES.map(lettersOf));
/** Prefixes that other programs hardly use, except in the variables that Kubernetes sets for each service. */
const OURS_ALONE = /^(?:DATABASE|MESSAGES|OIDC|SIGN)_(?!SERVICE_|PORT)/;
const NAME = /^[\w.-]+$/;
/** The quoted value of an assignment, which may span lines. */
const QUOTED = /=[ \t]*(["'`])[^]*?\1/g;

/**
 * Warnings about a `.env` and the environment. They show no values and no stray lines, which may be secrets.
 * @param names of the environment, before the file is added
 */
export function warningsOf(text: string, names: string[]): string[] {
  const lines = text.replaceAll(QUOTED, (value) => `=${value.replaceAll(/[^\n]/g, '')}`).split('\n');
  const stray = lines.flatMap((line, i) =>
    /^\s*(?:#|$)/.test(line) || Object.keys(parseEnv(line)).some((name) => NAME.test(name)) ? [] : [i + 1],
  );
  const inFile = Object.keys(parseEnv(text)).filter(isMeantForService);
  const inEnvironment = names.filter((name) => OURS_ALONE.test(name) && isMeantForService(name));
  return [
    ...stray.map((number) => `Line ${number} of .env is ignored: it is no assignment (NAME=value).`),
    ...new Set(
      [...inFile, ...inEnvironment].map((name) => `${name} is set, but the service has no such variable.`),
    ),
  ];
}

/** Whether a name resembles a variable of the service, but is not one. OpenTelemetry reads its own variables. */
function isMeantForService(name: string): boolean {
  if (VARIABLES.includes(name) || name.startsWith('OTEL_')) return false;
  return FIRST_WORDS.has(firstWord(name)) || LETTERS.has(lettersOf(name));
}

function firstWord(name: string): string {
  return name.split('_')[0]!;
}

function lettersOf(name: string): string {
  return name.replaceAll('_', '').toUpperCase();
}
