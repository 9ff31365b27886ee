import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findOperation } from '../../src/testing/document.js';
import { ROOT } from './npm.js';

interface Answered {
  operationId?: string;
  status: number;
  text: string;
}

/**
 * Sends the requests of a `.http` file one after the other, as the extension REST Client does with `@name = value`,
 * `{{name}}`, `{{$timestamp}}`, `{{$guid}}`, `# @name`, `{{name.response.body.field}}` and `< ./file` for a body or a part of a form. Does not
 * read event streams, which have no end.
 * @param given values that replace those of the file
 */
export async function runHttpFile(path: string, given: Record<string, string>): Promise<Answered[]> {
  const values = new Map<string, string>([
    ['$timestamp', String(Date.now())],
    ['$guid', randomUUID()],
  ]);
  const fill = (text: string) =>
    text.replace(/\{\{([^}]+)\}\}/g, (_, name: string) => {
      if (!values.has(name)) throw new Error(`${path} has no value for ${name}`);
      return values.get(name)!;
    });
  const [head, ...requests] = readFileSync(join(ROOT, path), 'utf8').split(/^###.*\n/m);
  for (const [, name, value] of head!.matchAll(/^@(\w+) = (.+)$/gm))
    values.set(name!, given[name!] ?? fill(value!));
  const answers: Answered[] = [];
  for (const text of requests) {
    const name = /^# @name (\w+)$/m.exec(text)?.[1];
    const { status, body, operationId } = await sendText(fill(text.replace(/^#.*\n/gm, '')), dirname(path));
    answers.push({ operationId, status, text: body });
    const fields = name ? Object.entries(JSON.parse(body) as object) : [];
    for (const [field, value] of fields) values.set(`${name}.response.body.${field}`, String(value));
  }
  return answers;
}

async function sendText(
  text: string,
  folder: string,
): Promise<{ status: number; body: string; operationId?: string }> {
  const [head, written] = text.trim().split(/\n\n([^]+)/);
  const fileIn = (part: string) => /^< (.+)$/.exec(part)?.[1];
  const bytesOf = (file: string) => readFileSync(join(ROOT, folder, file));
  const [line, ...lines] = head!.split('\n');
  const [method, url] = line!.split(' ') as [string, string];
  const headers = new Headers(lines.map((one) => one.split(/: (.+)/).slice(0, 2) as [string, string]));
  const basic = /^Basic (.+:.+)$/.exec(headers.get('Authorization') ?? '')?.[1];
  if (basic) headers.set('Authorization', `Basic ${btoa(basic)}`);
  const isForm = headers.get('Content-Type')?.startsWith('multipart/') ?? false;
  const parts = isForm ? written!.split('\n') : [written ?? ''];
  const bodies = parts.map((part) => {
    const file = fileIn(part);
    return file === undefined ? Buffer.from(part) : bytesOf(file);
  });
  // The extension ends the lines of a form in this way.
  const lined = isForm ? bodies.flatMap((part) => [part, Buffer.from('\r\n')]) : bodies;
  const body = written === undefined ? undefined : Buffer.concat(lined);
  const response = await fetch(url, { method, headers, body });
  const { operationId } = findOperation(method, new URL(url).pathname)?.operation ?? {};
  const isEndless = response.headers.get('content-type')?.startsWith('text/event-stream');
  if (isEndless) await response.body!.cancel();
  return { status: response.status, body: isEndless ? '' : await response.text(), operationId };
}
