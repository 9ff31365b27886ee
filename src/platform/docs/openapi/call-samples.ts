import type { OpenAPIObject } from '@nestjs/swagger';
import type { Config } from '../../../config.js';
import {
  aboveVersions,
  type Access,
  EVENTS_TYPE,
  hasBody,
  isLaterVersion,
  JSON_TYPE,
} from '../../api/index.js';
import { HERE, impliedValue, type Operation, type Placed, type Schema } from './schemas.js';

/** Sample calls with an operation's example and required query; undefined if the body is not JSON, or the answer is binary. */
export function codeSamples(
  placed: Placed,
  access: Access,
  document: OpenAPIObject,
  config: Config,
): Operation['x-codeSamples'] {
  const { path, method, operation } = placed;
  const { parameters = [], requestBody } = operation;
  const body = requestBody?.content[JSON_TYPE];
  const answers = answersOf(operation);
  if (!answers || (requestBody && !body)) return undefined;
  const examples = new Map(
    parameters.map(({ name, schema = {}, example = (schema as Schema).example as unknown }) => [
      name,
      encodeURIComponent((example ?? impliedValue(document, schema) ?? name) as string),
    ]),
  );
  const required = parameters.filter((parameter) => parameter.in === 'query' && parameter.required);
  const query = required.map(({ name }) => `${encodeURIComponent(name)}=${examples.get(name)}`).join('&');
  const call: Call = {
    method: method.toUpperCase(),
    url:
      serverOf(placed, config) +
      path.replace(/\{(\w+)\}/g, (_, name: string) => examples.get(name) ?? name) +
      (query && `?${query}`),
    access,
    body: body?.example,
    answers,
  };
  return [
    { lang: 'Shell', label: 'curl', source: curl(call) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
  ];
}

/** The server URL of an operation: its own, or this server's, without `/v1` if the path has a version. */
function serverOf({ path, operation }: Placed, { BASE_URL, PORT }: Config): string {
  const own = operation.servers
    ?.map(({ url }) => url)
    .find((url) => URL.canParse(url) && !url.startsWith(HERE));
  const here = BASE_URL ?? `http://localhost:${PORT || 3000}/v1`;
  return own ?? (isLaterVersion(path) ? aboveVersions(here) : here);
}

/** The kind of answer that a sample shows: the first success that may have a body; undefined for binary. */
function answersOf({ responses }: Operation): Call['answers'] | undefined {
  const successes = Object.entries(responses).filter(([status]) => hasBody(Number(status)));
  const [type] = successes.flatMap(([, { content = {} }]) => Object.keys(content));
  if (type === undefined) return 'nothing';
  if (type === JSON_TYPE) return 'json';
  if (type === EVENTS_TYPE) return 'events';
  return type.startsWith('text/') ? 'text' : undefined;
}

/** A sample call, which takes credentials from environment variables. */
interface Call {
  /** In upper case. */
  readonly method: string;
  readonly url: string;
  readonly access: Access;
  /** Any JSON value. */
  readonly body?: unknown;
  readonly answers: 'json' | 'text' | 'nothing' | 'events';
}

function curl({ method, url, access, body, answers }: Call): string {
  const parts = [method === 'GET' ? `curl ${inShell(url)}` : `curl -X ${method} ${inShell(url)}`];
  if (access === 'bearer') parts.push('-H "Authorization: Bearer $API_KEY"');
  if (access === 'basic') parts.push('-u "$EMAIL:$PASSWORD"');
  if (body !== undefined) parts.push(`-H 'Content-Type: ${JSON_TYPE}'`, `-d ${inShell(literal(body))}`);
  // `-N` turns buffering off.
  if (answers === 'events') parts.push('-N');
  return parts.join(' \\\n  ');
}

/** A text as one word of a POSIX shell: nothing between single quotes is special, not even a backslash. */
function inShell(text: string): string {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

const AUTHORIZATION: Partial<Record<Access, string>> = {
  bearer: 'Authorization: `Bearer ${process.env.API_KEY}`',
  basic:
    "Authorization: `Basic ${Buffer.from(`${process.env.EMAIL}:${process.env.PASSWORD}`).toString('base64')}`",
};

const PRINTED = {
  text: ', await response.text()',
  nothing: '',
  events: '',
  json: ', await response.json()',
};

function typescript({ method, url, access, body, answers }: Call): string {
  const headers = [
    ...(AUTHORIZATION[access] ? [AUTHORIZATION[access]] : []),
    ...(body === undefined ? [] : [`'Content-Type': '${JSON_TYPE}'`]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length > 0 ? [`headers: { ${headers.join(', ')} }`] : []),
    ...(body === undefined ? [] : [`body: JSON.stringify(${literal(body)})`]),
  ];
  const init = options.length > 0 ? `, {\n${options.map((option) => `  ${option},\n`).join('')}}` : '';
  const request = `const response = await fetch('${url.replaceAll("'", '%27')}'${init});`;
  const events =
    answers === 'events'
      ? '\nfor await (const text of response.body.pipeThrough(new TextDecoderStream())) console.log(text);'
      : '';
  return `${request}\nconsole.log(response.status${PRINTED[answers]});${events}`;
}

/** A value as JSON on one line, with spaces. */
function literal(value: unknown): string {
  return JSON.stringify(value, null, 1).replaceAll(/\n */g, ' ');
}
