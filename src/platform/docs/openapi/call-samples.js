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
  const sent = call.text ?? (call.body === undefined ? undefined : literal(call.body));
  const parts = [method === 'GET' ? `curl ${inShell(url)}` : `curl -X ${method} ${inShell(url)}`];
  if (access === 'bearer')
    parts.push(key ? `-H ${inShell(`Authorization: Bearer ${key}`)}` : '-H "Authorization: Bearer $API_KEY"');
  if (access === 'basic')
    parts.push(email ? `-u ${inShell(`${email}:${password}`)}` : '-u "$EMAIL:$PASSWORD"');
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${inShell(`${name}: ${value}`)}`);
  // Unlike `-d`, it does not take a text that begins with an @ for the name of a file.
  const option = call.text === undefined ? '-d' : '--data-raw';
  if (sent !== undefined) parts.push("-H 'Content-Type: application/json'", `${option} ${inShell(sent)}`);
  return parts.join(' \\\n  ');
}

/** A text as one word of a POSIX shell: nothing between single quotes is special, not even a backslash. */
function inShell(text) {
  return /^[\w%+,./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** With `requests`, which most Python programs use. */
function python({ method, url, access, headers = {}, body, text, key, email, password }) {
  const all = Object.entries(headers).map(([name, value]) => `${quote(name)}: ${quote(value)}`);
  const account = email
    ? `${quote(email)}, ${quote(password)}`
    : 'os.environ["EMAIL"], os.environ["PASSWORD"]';
  if (access === 'bearer')
    all.unshift(`"Authorization": ${key ? quote(`Bearer ${key}`) : 'f"Bearer {os.environ[\'API_KEY\']}"'}`);
  const parts = [
    quote(url),
    ...(access === 'basic' ? [`auth=(${account})`] : []),
    ...(all.length > 0 ? [`headers={${all.join(', ')}}`] : []),
    ...(text === undefined ? [] : [`data=${quote(text)}.encode()`]),
    ...(body === undefined ? [] : [`json=${literal(body, IN_PYTHON)}`]),
  ];
  return [
    ...(parts.some((part) => part.includes('os.environ[')) ? ['import os', ''] : []),
    'import requests',
    '',
    `response = requests.${method.toLowerCase()}(`,
    ...parts.map((part) => `    ${part},`),
    ')',
    method === 'DELETE' ? 'print(response.status_code)' : 'print(response.status_code, response.json())',
  ].join('\n');
}

function typescript({ method, url, access, headers = {}, body, text, key, email, password }) {
  const all = Object.entries(headers).map(([name, value]) => `${quote(name)}: ${quote(value)}`);
  const sent = text === undefined ? `JSON.stringify(${literal(body)})` : quote(text);
  const hasBody = text !== undefined || body !== undefined;
  if (hasBody) all.unshift("'Content-Type': 'application/json'");
  const account = email ? quote(`${email}:${password}`) : '`${process.env.EMAIL}:${process.env.PASSWORD}`';
  if (access === 'bearer')
    all.unshift(`Authorization: ${key ? quote(`Bearer ${key}`) : '`Bearer ${process.env.API_KEY}`'}`);
  if (access === 'basic')
    all.unshift(`Authorization: \`Basic \${Buffer.from(${account}).toString('base64')}\``);
  const options = [
    ...(method === 'GET' ? [] : [`method: '${method}'`]),
    ...(all.length > 0 ? [`headers: { ${all.join(', ')} }`] : []),
    ...(hasBody ? [`body: ${sent}`] : []),
  ];
  const result = method === 'DELETE' ? 'response.status' : 'response.status, await response.json()';
  const given = options.length > 0 ? `, {\n${options.map((option) => `  ${option},\n`).join('')}}` : '';
  return `const response = await fetch('${url.replaceAll("'", '%27')}'${given});\nconsole.log(${result});`;
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
