import { type Access, JSON_TYPE } from '../../api/index.js';

/** A call in a language, ready to paste. */
export interface Sample {
  lang: string;
  label: string;
  source: string;
}

/** A call. Credentials are environment variables. */
export interface Call {
  /** In upper case. */
  readonly method: string;
  readonly url: string;
  readonly access: Access;
  /** A value of JSON. */
  readonly body?: unknown;
  readonly answers: 'json' | 'text' | 'nothing' | 'events';
}

export function samplesOf(call: Call): Sample[] {
  return [
    { lang: 'Shell', label: 'curl', source: curl(call) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
  ];
}

function curl({ method, url, access, body, answers }: Call): string {
  const parts = [method === 'GET' ? `curl ${inShell(url)}` : `curl -X ${method} ${inShell(url)}`];
  if (access === 'bearer') parts.push('-H "Authorization: Bearer $API_KEY"');
  if (access === 'basic') parts.push('-u "$EMAIL:$PASSWORD"');
  if (body !== undefined) parts.push(`-H 'Content-Type: ${JSON_TYPE}'`, `-d ${inShell(literal(body))}`);
  // Without buffering.
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
