import type { Access } from '../../api/operation-facts.js';
import { aboveVersions, isLaterVersion } from '../../api/versions.js';
import type { Config } from '../../../config.js';
import { HERE, type Placed } from './placed.js';

interface Sample {
  lang: string;
  label: string;
  source: string;
}

interface Call {
  method: string;
  url: string;
  access: Access;
  /** The example body. */
  body?: unknown;
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
  const content = (operation.requestBody as { content?: Record<string, { example?: unknown }> } | undefined)
    ?.content;
  const parameters = (operation.parameters ?? []) as {
    name: string;
    in: string;
    schema?: { example?: string | number };
  }[];
  const examples = new Map(
    parameters.map(({ name, schema }) => [name, encodeURIComponent(schema?.example ?? name)]),
  );
  return {
    method: method.toUpperCase(),
    // An apostrophe, which a URL may have as it is, would end a text in TypeScript.
    url: (serverOf(placed, config) + path.replace(/\{(\w+)\}/g, (_, name) => examples.get(name)!)).replaceAll(
      "'",
      '%27',
    ),
    access,
    body: content?.['application/json']?.example,
  };
}

/** The server that an operation is called at: its own, or this one, above the versions if its path includes one. */
function serverOf({ path, operation }: Placed, { BASE_URL, PORT }: Config): string {
  const own = operation.servers
    ?.map(({ url }) => url)
    .find((url) => URL.canParse(url) && !url.startsWith(HERE));
  const here = BASE_URL ?? `http://localhost:${PORT || 3000}/v1`;
  return own ?? (isLaterVersion(path) ? aboveVersions(here) : here);
}

function curl({ method, url, access, body }: Call): string {
  const parts = [method === 'GET' ? `curl ${inShell(url)}` : `curl -X ${method} ${inShell(url)}`];
  if (access === 'bearer') parts.push('-H "Authorization: Bearer $API_KEY"');
  if (access === 'basic') parts.push('-u "$EMAIL:$PASSWORD"');
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", `-d ${inShell(literal(body))}`);
  return parts.join(' \\\n  ');
}

/** A text as one word of a POSIX shell: nothing between single quotes is special, not even a backslash. */
function inShell(text: string): string {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const PYTHON_AUTHORIZATION: Record<Access, string | undefined> = {
  public: undefined,
  basic: 'auth=(os.environ["EMAIL"], os.environ["PASSWORD"])',
  bearer: 'headers={"Authorization": f"Bearer {os.environ[\'API_KEY\']}"}',
};

/** With `requests`, which most Python programs use. */
function python({ method, url, access, body }: Call): string {
  const authorization = PYTHON_AUTHORIZATION[access];
  const parts = [
    `"${url}"`,
    ...(authorization ? [authorization] : []),
    ...(body === undefined ? [] : [`json=${literal(body, IN_PYTHON)}`]),
  ];
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
    ...(body === undefined ? [] : ["'Content-Type': 'application/json'"]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length > 0 ? [`headers: { ${headers.join(', ')} }`] : []),
    ...(body === undefined ? [] : [`body: JSON.stringify(${literal(body)})`]),
  ];
  const result = method === 'DELETE' ? 'response.status' : 'response.status, await response.json()';
  return `const response = await fetch('${url}', {\n${options.map((option) => `  ${option},\n`).join('')}});\nconsole.log(${result});`;
}

/** Words that are not those of JSON. All other JSON means the same in Python. */
const IN_PYTHON: Record<string, string> = { true: 'True', false: 'False', null: 'None' };

/** A value as JSON on one line, with spaces as people write it, or as another language has it. */
function literal(value: unknown, words: Record<string, string> = {}): string {
  if (Array.isArray(value))
    return between(
      '[',
      value.map((item) => literal(item, words)),
      ']',
    );
  if (typeof value === 'object' && value !== null) {
    const properties = Object.entries(value).filter(([, held]) => held !== undefined);
    return between(
      '{',
      properties.map(([name, held]) => `${JSON.stringify(name)}: ${literal(held, words)}`),
      '}',
    );
  }
  const text = JSON.stringify(value);
  return words[text] ?? text;
}

function between(open: string, items: string[], close: string): string {
  return items.length === 0 ? open + close : `${open} ${items.join(', ')} ${close}`;
}
