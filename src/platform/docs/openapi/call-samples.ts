import { type Access, JSON_TYPE } from '../../api/index.js';

/** A call in a language, ready to paste. */
export interface Sample {
  lang: string;
  label: string;
  source: string;
}

interface SampleContent {
  readonly type: string;
  readonly text?: string;
  readonly base64?: string;
}

/** A call. Credentials are environment variables. */
export interface Call {
  /** In upper case. */
  readonly method: string;
  readonly url: string;
  readonly access: Access;
  readonly body?: unknown;
  /** A body of another type, instead. */
  readonly content?: SampleContent;
  /** The fields of a form, instead; a field with a type is a file. */
  readonly form?: readonly (Partial<SampleContent> & { readonly name: string })[];
  readonly answers?: 'json' | 'text' | 'bytes' | 'nothing' | 'events';
}

export function samplesOf(call: Call): Sample[] {
  return [
    { lang: 'Shell', label: 'curl', source: curl(call) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
  ];
}

function curl({ method, url, access, body, content, form = [], answers }: Call): string {
  const parts = [method === 'GET' ? `curl ${inShell(url)}` : `curl -X ${method} ${inShell(url)}`];
  if (access === 'bearer') parts.push('-H "Authorization: Bearer $API_KEY"');
  if (access === 'basic') parts.push('-u "$EMAIL:$PASSWORD"');
  for (const field of form) parts.push(fieldInShell(field));
  const type = content?.type ?? (body === undefined ? undefined : JSON_TYPE);
  if (type) parts.push(`-H 'Content-Type: ${type}'`);
  if (body !== undefined) parts.push(`-d ${inShell(literal(body))}`);
  // Unlike `-d`, `--data-raw` does not read a text that begins with @ as the name of a file.
  if (content?.text !== undefined) parts.push(`--data-raw ${inShell(content.text)}`);
  if (content?.base64 !== undefined) parts.push('--data-binary @-');
  if (answers === 'bytes') parts.push('-o answer');
  // Without buffering.
  if (answers === 'events') parts.push('-N');
  const from = content?.base64 === undefined ? '' : `${bytesInShell(content.base64)} | `;
  return from + parts.join(' \\\n  ');
}

/** `-F` would read a text that begins with @ as the name of a file; process substitution passes the bytes of a file. */
function fieldInShell({ name, type, text = '', base64 = '' }: NonNullable<Call['form']>[number]): string {
  if (!type) return `--form-string ${inShell(`${name}=${text}`)}`;
  const ends = `;type=${type};filename=${fileName(name, type)}`;
  return `-F ${inShell(`${name}=@`)}<(${bytesInShell(base64)})${inShell(ends)}`;
}

const bytesInShell = (base64: string): string => `echo ${inShell(base64)} | base64 -d`;

const fileName = (name: string, type: string): string => `${name}.${type.replace(/.*\//, '')}`;

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
  bytes: ', (await response.bytes()).length',
  nothing: '',
  events: '',
  json: ', await response.json()',
};

function typescript({ method, url, access, body, content, form, answers = 'json' }: Call): string {
  const type = content?.type ?? (body === undefined ? undefined : JSON_TYPE);
  const headers = [
    ...(AUTHORIZATION[access] ? [AUTHORIZATION[access]] : []),
    ...(type ? [`'Content-Type': '${type}'`] : []),
  ];
  const sent =
    (form && 'form') ||
    (content && bytesIn(content)) ||
    (body === undefined ? undefined : `JSON.stringify(${literal(body)})`);
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(headers.length > 0 ? [`headers: { ${headers.join(', ')} }`] : []),
    ...(sent ? [`body: ${sent}`] : []),
  ];
  const fields = (form ?? []).map(({ name, type: fileType, ...payload }) => {
    if (!fileType) return `form.append(${quote(name)}, ${quote(payload.text)});\n`;
    const file = `new Blob([${bytesIn(payload)}], { type: ${quote(fileType)} })`;
    return `form.append(${quote(name)}, ${file}, ${quote(fileName(name, fileType))});\n`;
  });
  const before = form ? `const form = new FormData();\n${fields.join('')}` : '';
  const init = options.length > 0 ? `, {\n${options.map((option) => `  ${option},\n`).join('')}}` : '';
  const request = `const response = await fetch('${url.replaceAll("'", '%27')}'${init});`;
  const events =
    answers === 'events'
      ? '\nfor await (const text of response.body.pipeThrough(new TextDecoderStream())) console.log(text);'
      : '';
  return `${before}${request}\nconsole.log(response.status${PRINTED[answers]});${events}`;
}

function bytesIn({ text, base64 }: Partial<SampleContent>): string {
  return base64 === undefined ? quote(text) : `Buffer.from(${quote(base64)}, 'base64')`;
}

const quote = (text = ''): string => JSON.stringify(text);

/** A value as JSON on one line, with spaces. */
function literal(value: unknown): string {
  return JSON.stringify(value, null, 1).replaceAll(/\n */g, ' ');
}
