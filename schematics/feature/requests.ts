import { Script } from 'node:vm';
import type { Rule, Tree } from '@angular-devkit/schematics';
import type { Made } from './made.ts';
import type { Names } from './names.ts';
import { insertBefore } from './insert.ts';

const REQUESTS = 'examples/petstore.http';
const AUTHORIZATION = 'Authorization: Bearer {{key.response.body.key}}';
/** The deletions come at the end, the last feature first: its rows may refer to those of earlier ones. */
const DELETIONS = /^### Delete the .*|### Revoke the key$/m;

/** Adds the requests of a feature, as the extension REST Client sends them. */
export function addRequests(names: Names, fields: readonly Made[], crud: boolean): Rule {
  const { Name, files, word } = names;
  const address = `{{base}}/${files}/{{new${Name}.response.body.id}}`;
  return (tree) => {
    const sent = readingsOf(tree, names, fields, address);
    if (crud) {
      const changed = bodyOf(tree, [fields.find(({ target }) => !target) ?? fields[0]!], 'other');
      sent.push(`### Change the ${word}\nPATCH ${address}\n${AUTHORIZATION}\n${changed}`);
    }
    insertBefore(REQUESTS, DELETIONS, `${sent.join('\n\n')}\n\n`)(tree);
    const deletion = `### Delete the ${word}\nDELETE ${address}\n${AUTHORIZATION}\n\n`;
    if (crud) insertBefore(REQUESTS, DELETIONS, deletion)(tree);
  };
}

/** The requests that add, list and fetch. */
function readingsOf(tree: Tree, names: Names, fields: readonly Made[], address: string): string[] {
  const { Name, files, word, words, aWord } = names;
  const searches = fields
    .filter(({ isFilter }) => isFilter)
    .map((one) => `?${one.name}=${one.target ? idOf(tree, one.target.table) : String(value(one.example))}`);
  return [
    `### Add ${aWord}\n# @name new${Name}\nPOST {{base}}/${files}\n${AUTHORIZATION}\n${bodyOf(tree, fields, 'example')}`,
    ...['', ...searches].map(
      (search) => `### List ${search && 'some '}${words}\nGET {{base}}/${files}${search}\n${AUTHORIZATION}`,
    ),
    `### Fetch the ${word}\nGET ${address}\n${AUTHORIZATION}`,
  ];
}

/** A body, after its type. */
function bodyOf(tree: Tree, fields: readonly Made[], which: 'example' | 'other'): string {
  const members = fields.map(
    (one) => `"${one.name}": ${one.target ? idOf(tree, one.target.table) : json(one[which])}`,
  );
  return `Content-Type: application/json\n\n{ ${members.join(', ')} }`;
}

/** The id of what an earlier request has made. */
function idOf(tree: Tree, table: string): string {
  const path = `(?:[\\w-]+/)*${table.replaceAll('_', '-')}`;
  const name = new RegExp(`^# @name (\\w+)\\nPOST {{base}}/${path}$`, 'm').exec(tree.readText(REQUESTS))?.[1];
  return name === undefined ? '1' : `{{${name}.response.body.id}}`;
}

const value = (literal: string): unknown => new Script(`(${literal})`).runInThisContext();

/** A value as JSON, with spaces as people write it. */
function json(literal: string): string {
  return JSON.stringify(value(literal), null, 1).replaceAll(/\n */g, ' ');
}
