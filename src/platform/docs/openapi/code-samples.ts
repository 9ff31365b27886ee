import type { Access } from '../../api/operation-facts.js';
import { aboveVersions, isLaterVersion } from '../../api/versions.js';
import type { Config } from '../../../config.js';
import type { Placed } from './placed.js';

interface Sample {
  lang: string;
  label: string;
  source: string;
}

interface Call {
  method: string;
  url: string;
  access: Access;
  /** JSON text of the example body. */
  body?: string;
}

/** How to call an operation with its example, ready to paste. */
export function codeSamples(placed: Placed, access: Access, config: Config): Sample[] {
  const call = describeCall(placed, access, config);
  return [
    { lang: 'Shell', label: 'curl', source: curl(call) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
    { lang: 'Python', label: 'Python', source: python(call) },
  ];
}

function describeCall(placed: Placed, access: Access, config: Config): Call {
  const { path, method, operation } = placed;
  const body = (operation.requestBody as { content?: Record<string, { example?: unknown }> } | undefined)
    ?.content;
  const parameters = (operation.parameters ?? []) as {
    name: string;
    in: string;
    schema?: { example?: string | number };
  }[];
  const examples = new Map(parameters.map(({ name, schema }) => [name, String(schema?.example ?? name)]));
  const example = body?.['application/json']?.example;
  return {
    method: method.toUpperCase(),
    url: serverOf(placed, config) + path.replace(/\{(\w+)\}/g, (_, name) => examples.get(name)!),
    access,
    body: example === undefined ? undefined : spaced(example),
  };
}

/** The server that an operation is called at: its own, or this one, above the versions if its path includes one. */
function serverOf({ path, operation }: Placed, { BASE_URL, PORT }: Config): string {
  const own = operation.servers?.map(({ url }) => url).find((url) => URL.canParse(url));
  const here = BASE_URL ?? `http://localhost:${PORT || 3000}/v1`;
  return own ?? (isLaterVersion(path) ? aboveVersions(here) : here);
}

function curl({ method, url, access, body }: Call): string {
  const parts = [method === 'GET' ? `curl ${url}` : `curl -X ${method} ${url}`];
  if (access === 'bearer') parts.push('-H "Authorization: Bearer $API_KEY"');
  if (access === 'basic') parts.push('-u "$EMAIL:$PASSWORD"');
  if (body) parts.push("-H 'Content-Type: application/json'", `-d '${body}'`);
  return parts.join(' \\\n  ');
}

const PYTHON_AUTHORIZATION: Record<Access, string | undefined> = {
  public: undefined,
  basic: 'auth=(os.environ["EMAIL"], os.environ["PASSWORD"])',
  bearer: 'headers={"Authorization": f"Bearer {os.environ[\'API_KEY\']}"}',
};

/**
 * With `requests`, which most Python programs use. The examples contain no `true`, `false` or `null`, so their JSON is
 * also a Python dictionary.
 */
function python({ method, url, access, body }: Call): string {
  const authorization = PYTHON_AUTHORIZATION[access];
  const parts = [`"${url}"`, ...(authorization ? [authorization] : []), ...(body ? [`json=${body}`] : [])];
  return [
    ...(authorization ? ['import os', ''] : []),
    'import requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    ...parts.map((part) => `    ${part},`),
    ')',
    method === 'DELETE' ? 'print(response.status_code)' : 'print(response.status_code, response.json())',
  ].join('\n');
}

const AUTHORIZATION: Record<Access, string | undefined> = {
  public: undefined,
  basic: '`Basic ${btoa(`${process.env.EMAIL}:${process.env.PASSWORD}`)}`',
  bearer: '`Bearer ${process.env.API_KEY}`',
};

function typescript({ method, url, access, body }: Call): string {
  const headers = [
    ...(AUTHORIZATION[access] ? [`Authorization: ${AUTHORIZATION[access]}`] : []),
    ...(body ? ["'Content-Type': 'application/json'"] : []),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length > 0 ? [`headers: { ${headers.join(', ')} }`] : []),
    ...(body ? [`body: JSON.stringify(${body})`] : []),
  ];
  const result = method === 'DELETE' ? 'response.status' : 'response.status, await response.json()';
  return `const response = await fetch('${url}', {\n${options.map((option) => `  ${option},\n`).join('')}});\nconsole.log(${result});`;
}

/** JSON on one line, with spaces as people write it. Its strings are not touched: line breaks in them are escaped. */
function spaced(value: unknown): string {
  return JSON.stringify(value, null, 1).replace(/\n\s*/g, ' ');
}
