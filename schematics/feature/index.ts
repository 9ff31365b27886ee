import { Script } from 'node:vm';
import { strings } from '@angular-devkit/core';
import {
  apply,
  applyTemplates,
  chain,
  mergeWith,
  type Rule,
  SchematicsException,
  type Tree,
  url,
} from '@angular-devkit/schematics';
import pluralize from 'pluralize';

interface Options {
  name: string;
  singular?: string;
  /** Whether each account has rows of its own. */
  owned?: boolean;
}

/** The names that a feature goes by, each in the spellings of the places that it stands in. */
type Names = ReturnType<typeof spell>;

const MODULES = 'src/app.module.ts';
const CODES = 'src/platform/api/api-error.ts';
const PERMISSIONS = 'src/platform/api/permissions.ts';
const REQUESTS = 'examples/petstore.http';
// PostgreSQL cuts names after 63 bytes, and those of constraints are longer than their table's.
const WORDS = /^(?=.{2,40}$)[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*$/;

/**
 * Writes a feature, and registers its module, its error code, its permissions and its requests.
 * @throws SchematicsException that says in one line what is wrong with the name
 */
export function feature({ name, singular, owned = false }: Options): Rule {
  return (tree) => {
    const { one, many } = count(name, singular);
    const names = spell(one, many, timeOfMigration(tree));
    refuseTaken(tree, names);
    const folders = ['./files', owned ? './files-owned' : './files-shared'];
    return chain([
      ...folders.map((folder) => mergeWith(apply(url(folder), [applyTemplates(names), refuseHiding(names)]))),
      importModule(names),
      // After the features, which a blank line divides from the platform.
      insertBefore(MODULES, /^\n(?= {4}\w+,$)/m, `    ${names.Names}Module,\n`),
      insertBefore(
        CODES,
        /^ {2}route_not_found:/m,
        `  ${names.code}_not_found: { status: 404, meaning: 'The ${names.word} cannot be found.' },\n`,
      ),
      insertBefore(PERMISSIONS, /^\} as const;$/m, permissions(names, owned)),
      insertBefore(REQUESTS, /^### Revoke the key$/m, requests(names)),
      formatChanged,
    ]);
  };
}

/** The permissions of a feature, and what they are for. */
function permissions({ files, words }: Names, owned: boolean): string {
  const whose = owned ? `your ${words}` : words;
  return `  '${files}:read': 'List and fetch ${whose}.',\n  '${files}:write': 'Add ${words}.',\n`;
}

/** The requests of a feature, which create, list and fetch, as the extension REST Client sends them. */
function requests({ Name, files, word, words, aWord }: Names): string {
  const authorization = 'Authorization: Bearer {{key.response.body.key}}';
  return `### Add ${aWord}
# @name new${Name}
POST {{base}}/${files}
${authorization}
Content-Type: application/json

{ "name": "Ada" }

### List ${words}
GET {{base}}/${files}
${authorization}

### Fetch the ${word}
GET {{base}}/${files}/{{new${Name}.response.body.id}}
${authorization}

`;
}

/** One and many of what is named, in kebab case: `categories` and `category` make the same feature. */
function count(name: string, singular?: string): { one: string; many: string } {
  const one = singular ?? pluralize.singular(name);
  const many = singular === undefined ? pluralize.plural(name) : name;
  for (const word of [name, one]) {
    if (WORDS.test(word)) continue;
    throw new SchematicsException(
      `"${word}" is no name of a feature: take 2 to 40 small letters and digits, words joined by "-".`,
    );
  }
  if (one === many) {
    throw new SchematicsException(
      `One and many "${many}" are the same word: add --singular and another one.`,
    );
  }
  return { one, many };
}

function spell(one: string, many: string, time: string) {
  return {
    Name: strings.classify(one),
    Names: strings.classify(many),
    name: strings.camelize(one),
    names: strings.camelize(many),
    file: one,
    files: many,
    code: strings.underscore(one),
    table: strings.underscore(many),
    word: one.replaceAll('-', ' '),
    words: many.replaceAll('-', ' '),
    aWord: `${/^[aeiou]/.test(one) ? 'an' : 'a'} ${one.replaceAll('-', ' ')}`,
    time,
  };
}

/** The time of the new migration in milliseconds: now, or later, so that it comes after those that are there. */
function timeOfMigration(tree: Tree): string {
  const times = tree.getDir('src/migrations').subfiles.map((file) => Number.parseInt(file, 10));
  return String(Math.max(Date.now(), ...times.map((time) => time + 1)));
}

function refuseTaken(tree: Tree, { files, table, code, name, Names }: Names): void {
  const refuse = (why: string) => {
    throw new SchematicsException(`"${files}" cannot be added: ${why}.`);
  };
  if (tree.getDir(`src/${files}`).subfiles.length > 0) refuse(`src/${files} is there`);
  if (tree.readText(MODULES).includes(`{ ${Names}Module }`)) refuse(`${Names}Module is there`);
  if (tree.readText(CODES).includes(`  ${code}_not_found:`)) refuse(`the code ${code}_not_found is there`);
  tree.getDir('src').visit((path) => {
    if (!path.endsWith('.entity.ts')) return;
    if (tree.readText(path).includes(`@Entity('${table}'`))
      refuse(`the table ${table} is that of ${path.slice(1)}`);
  });
  if (tree.exists(`test/${files}.test.ts`)) refuse(`test/${files}.test.ts is there`);
  if (['id', 'name', 'accountId'].includes(name)) refuse(`a feature has a column ${name}`);
  if (!isIdentifier(name)) refuse(`"${name}" is a word of JavaScript`);
}

function isIdentifier(word: string): boolean {
  try {
    return Boolean(new Script(`'use strict'; let ${word};`));
  } catch {
    return false;
  }
}

/** Refuses a feature whose class would have the name of one that its own files import, such as `Tag`. */
function refuseHiding({ Name, files }: Names): Rule {
  return (tree) => {
    tree.visit((path) => {
      for (const [, imported] of tree.readText(path).matchAll(/^import .*\{(.+)\} from '(?!\.\/)/gm)) {
        if (!imported!.split(/[\s,]+/).includes(Name)) continue;
        throw new SchematicsException(
          `"${files}" cannot be added: its class would hide the ${Name} that ${path.slice(1)} imports.`,
        );
      }
    });
  };
}

/** Imports the module of a feature where its path has its place among the others. */
function importModule({ Names, files }: Names): Rule {
  return (tree) => {
    const path = `./${files}/${files}.module.js`;
    const imports = [...tree.readText(MODULES).matchAll(/^import .* from '(\..*)';\n/gm)];
    const next = imports.find(([, other]) => other! > path);
    return insertBefore(MODULES, next?.[0] ?? /^\n/m, `import { ${Names}Module } from '${path}';\n`);
  };
}

function insertBefore(path: string, place: RegExp | string, line: string): Rule {
  return (tree) => {
    const text = tree.readText(path);
    const at = typeof place === 'string' ? text.indexOf(place) : text.search(place);
    if (at < 0) throw new Error(`${path} has no line like ${String(place)}`);
    tree.overwrite(path, text.slice(0, at) + line + text.slice(at));
  };
}

/** Names are of different lengths, and so are the lines that have them. */
async function formatChanged(tree: Tree): Promise<void> {
  const changed = new Set(tree.actions.map(({ path }) => path));
  // Loaded only here: a name that is refused is refused at once.
  const { format, getFileInfo, resolveConfig } = await import('prettier');
  const options = await resolveConfig('package.json');
  for (const path of changed) {
    if (!(await getFileInfo(path)).inferredParser) continue;
    tree.overwrite(path, await format(tree.readText(path), { ...options, filepath: path }));
  }
}
