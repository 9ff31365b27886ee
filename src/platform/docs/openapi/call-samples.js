// In JavaScript, as browsers load this file too, for the samples of what stands in their fields.

/** How to make a call in each language, ready to paste. */
export function samplesOf(call) {
  return [
    { lang: 'Shell', label: 'curl', source: curl(call) },
    { lang: 'TypeScript', label: 'TypeScript', source: typescript(call) },
    { lang: 'Python', label: 'Python', source: python(call) },
  ];
}

function curl(call) {
  const { method, url, access, headers = {}, key, email, password } = call;
  const parts = [method === 'GET' ? `curl ${inShell(url)}` : `curl -X ${method} ${inShell(url)}`];
  if (access === 'bearer')
    parts.push(key ? `-H ${inShell(`Authorization: Bearer ${key}`)}` : '-H "Authorization: Bearer $API_KEY"');
  if (access === 'basic')
    parts.push(email ? `-u ${inShell(`${email}:${password}`)}` : '-u "$EMAIL:$PASSWORD"');
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${inShell(`${name}: ${value}`)}`);
  if (call.form) for (const field of call.form) parts.push(`-F ${fieldInShell(field)}`);
  const type = typeOf(call);
  if (type) parts.push(`-H 'Content-Type: ${type}'`, bodyInShell(call));
  if (call.answers === 'bytes') parts.push('-o answer');
  // Each event when it comes.
  if (call.answers === 'events') parts.push('-N');
  const { base64 } = call.content ?? {};
  const from = base64 === undefined ? '' : `${bytesInShell(base64)} | `;
  return from + parts.join(' \\\n  ');
}

/** The media type of a body that is no form. */
const typeOf = ({ content, body, text }) =>
  content?.type ?? (body === undefined && text === undefined ? undefined : 'application/json');

function bodyInShell({ content, text, body }) {
  if (content?.file !== undefined) return `--data-binary ${inShell(`@${content.file}`)}`;
  if (content?.base64 !== undefined) return '--data-binary @-';
  const raw = content?.text ?? text;
  // Unlike `-d`, it does not take a text that begins with an @ for the name of a file.
  return raw === undefined ? `-d ${inShell(literal(body))}` : `--data-raw ${inShell(raw)}`;
}

/** In Bash, which gives a file the output of a command. */
function fieldInShell({ name, type, text, base64, file }) {
  if (file !== undefined) return inShell(`${name}=@${file}${type && `;type=${type}`}`);
  if (!type) return inShell(`${name}=${text}`);
  const ends = `;type=${type};filename=${fileName({ name, type })}`;
  return `${inShell(`${name}=@`)}<(${bytesInShell(base64)})${inShell(ends)}`;
}

const bytesInShell = (base64) => `echo ${inShell(base64)} | base64 -d`;

/** What a file is called that is sent as a field. */
const fileName = ({ name, type, file }) => file ?? `${name}.${type.replace(/.*\//, '')}`;

/** A text as one word of a POSIX shell: nothing between single quotes is special, not even a backslash. */
function inShell(text) {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** With `requests`, which most Python programs use. */
function python(call) {
  const { method, url, access, headers = {}, body, text, content, form, key, email, password } = call;
  const all = Object.entries(headers).map(([name, value]) => `${quote(name)}: ${quote(value)}`);
  const account = email
    ? `${quote(email)}, ${quote(password)}`
    : 'os.environ["EMAIL"], os.environ["PASSWORD"]';
  if (content) all.unshift(`"Content-Type": ${quote(content.type)}`);
  if (access === 'bearer')
    all.unshift(`"Authorization": ${key ? quote(`Bearer ${key}`) : 'f"Bearer {os.environ[\'API_KEY\']}"'}`);
  const bytes = (one) => {
    if (one.file !== undefined) return `open(${quote(one.file)}, "rb")`;
    return one.base64 === undefined
      ? `${quote(one.text)}.encode()`
      : `base64.b64decode(${quote(one.base64)})`;
  };
  const field = (one) => {
    const value = isFile(one)
      ? `${quote(fileName(one))}, ${bytes(one)}, ${quote(one.type)}`
      : `None, ${quote(one.text)}`;
    return `(${quote(one.name)}, (${value}))`;
  };
  const parts = [
    quote(url),
    ...(access === 'basic' ? [`auth=(${account})`] : []),
    ...(all.length > 0 ? [`headers={${all.join(', ')}}`] : []),
    ...(text === undefined ? [] : [`data=${quote(text)}.encode()`]),
    ...(content === undefined ? [] : [`data=${bytes(content)}`]),
    ...(form === undefined ? [] : [`files=[${form.map(field).join(', ')}]`]),
    ...(body === undefined ? [] : [`json=${literal(body, IN_PYTHON)}`]),
  ];
  const uses = (word) => parts.some((part) => part.includes(word));
  const standard = [
    ...(uses('base64.b64decode(') ? ['import base64'] : []),
    ...(uses('os.environ[') ? ['import os'] : []),
  ];
  if (call.answers === 'events') parts.push('stream=True');
  const seen = { text: ', response.text', bytes: ', len(response.content)', nothing: '', events: '' }[
    call.answers
  ];
  return [
    ...standard,
    ...(standard.length > 0 ? [''] : []),
    'import requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    ...parts.map((part) => `    ${part},`),
    ')',
    `print(response.status_code${seen ?? ', response.json()'})`,
    ...(call.answers === 'events' ? ['for line in response.iter_lines():', '    print(line.decode())'] : []),
  ].join('\n');
}

const isFile = ({ type, file }) => Boolean(type) || file !== undefined;

function typescript(call) {
  const { method, url, access, headers = {}, body, text, content, form, key, email, password } = call;
  const all = Object.entries(headers).map(([name, value]) => `${quote(name)}: ${quote(value)}`);
  const bytes = (one) => {
    if (one.file !== undefined) return `await openAsBlob(${quote(one.file)})`;
    return one.base64 === undefined ? quote(one.text) : `Buffer.from(${quote(one.base64)}, 'base64')`;
  };
  const type = typeOf(call);
  if (type) all.unshift(`'Content-Type': '${type}'`);
  const account = email ? quote(`${email}:${password}`) : '`${process.env.EMAIL}:${process.env.PASSWORD}`';
  if (access === 'bearer')
    all.unshift(`Authorization: ${key ? quote(`Bearer ${key}`) : '`Bearer ${process.env.API_KEY}`'}`);
  if (access === 'basic')
    all.unshift(`Authorization: \`Basic \${Buffer.from(${account}).toString('base64')}\``);
  const sent =
    (form && 'form') ||
    (content && bytes(content)) ||
    (text === undefined ? body !== undefined && `JSON.stringify(${literal(body)})` : quote(text));
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(all.length > 0 ? [`headers: { ${all.join(', ')} }`] : []),
    ...(sent ? [`body: ${sent}`] : []),
  ];
  const field = (one) => {
    if (!isFile(one)) return `form.append(${quote(one.name)}, ${quote(one.text)});\n`;
    const file = `new Blob([${bytes(one)}], { type: ${quote(one.type)} })`;
    return `form.append(${quote(one.name)}, ${file}, ${quote(fileName(one))});\n`;
  };
  const hasFile = [content, ...(form ?? [])].some((one) => one?.file !== undefined);
  const imports = hasFile ? `import { openAsBlob } from 'node:fs';\n\n` : '';
  const fields = form ? `const form = new FormData();\n${form.map(field).join('')}` : '';
  const seen = {
    text: ', await response.text()',
    bytes: ', (await response.bytes()).length',
    nothing: '',
    events: '',
  }[call.answers];
  const given = options.length > 0 ? `, {\n${options.map((option) => `  ${option},\n`).join('')}}` : '';
  const asked = `const response = await fetch('${url.replaceAll("'", '%27')}'${given});`;
  const events =
    call.answers === 'events'
      ? '\nfor await (const text of response.body.pipeThrough(new TextDecoderStream())) console.log(text);'
      : '';
  return `${imports}${fields}${asked}\nconsole.log(response.status${seen ?? ', await response.json()'});${events}`;
}

/** A text as a literal of Python and TypeScript. */
const quote = (text = '') => JSON.stringify(text);

/** Words that are not those of JSON. All other JSON means the same in Python. */
const IN_PYTHON = { true: 'True', false: 'False', null: 'None' };

/** A value as JSON on one line, with spaces as people write it, or as another language has it. */
function literal(value, words = {}) {
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

function between(open, items, close) {
  return items.length === 0 ? open + close : `${open} ${items.join(', ')} ${close}`;
}
