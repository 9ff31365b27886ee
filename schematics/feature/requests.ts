import { readFileSync } from 'node:fs';
import { Script } from 'node:vm';
import type { Tree } from '@angular-devkit/schematics';
import type { Made } from './made.ts';
import type { Names } from './names.ts';

const OF_PRODUCT = new URL('../../examples/petstore.http', import.meta.url);
const AUTHORIZATION = 'Authorization: Bearer {{key.response.body.key}}';

/** A request that has a name, by which later ones take what it was answered. */
interface Named {
  name: string;
  text: string;
}

/** The requests of a feature after those for a key, as the extension REST Client sends them. */
export function requestsOf(
  tree: Tree,
  names: Names,
  fields: readonly Made[],
  { crud, put }: { crud: boolean; put: boolean },
): string {
  const { Name, files, word, words, aWord } = names;
  const there = namedRequests(tree);
  const address = `{{base}}/${files}/{{new${Name}.response.body.id}}`;
  const body = (some: readonly Made[], which: 'example' | 'other') => bodyOf(there, some, which);
  const searches = fields
    .filter(({ isFilter }) => isFilter)
    .map((one) => `?${one.name}=${one.target ? idOf(there, one.target.table) : String(value(one.example))}`);
  const own = [
    `### Add ${aWord}\n# @name new${Name}\n${put ? 'PUT' : 'POST'} {{base}}/${files}${put ? '/{{$guid}}' : ''}\n${AUTHORIZATION}\n${body(fields, 'example')}`,
    ...['', ...searches].map(
      (search) => `### List ${search && 'some '}${words}\nGET {{base}}/${files}${search}\n${AUTHORIZATION}`,
    ),
    `### Fetch the ${word}\nGET ${address}\n${AUTHORIZATION}`,
  ];
  if (crud) {
    const changed = body([fields.find(({ target }) => !target) ?? fields[0]!], 'other');
    own.push(
      `### Change the ${word}\nPATCH ${address}\n${AUTHORIZATION}\n${changed}`,
      `### Delete the ${word}\nDELETE ${address}\n${AUTHORIZATION}`,
    );
  }
  return [...neededBy(own.join('\n'), there), ...own].join('\n\n');
}

/** What the requests of the product and of each feature make that has a name. */
function namedRequests(tree: Tree): Named[] {
  const texts = [readFileSync(OF_PRODUCT, 'utf8')];
  tree.getDir('src').visit((path) => {
    if (path.endsWith('.http')) texts.push(tree.readText(path));
  });
  return texts
    .flatMap((text) => text.split(/^(?=### )/m))
    .flatMap((text) => {
      const name = /^# @name (\w+)$/m.exec(text)?.[1];
      return name === undefined ? [] : { name, text: text.trim() };
    });
}

/** The requests whose answers a text takes, after those that they need themselves; the key is there. */
function neededBy(text: string, there: readonly Named[], found = new Set(['key'])): string[] {
  return [...text.matchAll(/\{\{(\w+)\.response\./g)].flatMap(([, name]) => {
    const request = there.find((one) => one.name === name);
    if (!request || found.has(name!)) return [];
    found.add(name!);
    return [...neededBy(request.text, there, found), request.text];
  });
}

function valueOf(there: readonly Named[], one: Made, which: 'example' | 'other'): string {
  if (!one.target) return timed(one, json(one[which]));
  const id = idOf(there, one.target.table);
  return one.join ? `[${id}]` : id;
}

/** What no two may have the same of is another one each time. */
function timed({ isUnique }: Made, text: string): string {
  if (!isUnique) return text;
  return text.includes('@') ? text.replace('@', '-{{$timestamp}}@') : `${text.slice(0, -1)} {{$timestamp}}"`;
}

/** A body, after its type. */
function bodyOf(there: readonly Named[], fields: readonly Made[], which: 'example' | 'other'): string {
  const members = fields.map((one) => `"${one.name}": ${valueOf(there, one, which)}`);
  return `Content-Type: application/json\n\n{ ${members.join(', ')} }`;
}

/** The id of what another request makes. */
function idOf(there: readonly Named[], table: string): string {
  const adding = new RegExp(`^POST {{base}}/(?:[\\w-]+/)*${table.replaceAll('_', '-')}$`, 'm');
  const name = there.find(({ text }) => adding.test(text))?.name;
  return name === undefined ? '1' : `{{${name}.response.body.id}}`;
}

const value = (literal: string): unknown => new Script(`(${literal})`).runInThisContext();

/** A value as JSON, with spaces as people write it. */
function json(literal: string): string {
  return JSON.stringify(value(literal), null, 1).replaceAll(/\n */g, ' ');
}
