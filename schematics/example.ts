import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Feature } from './description.ts';
import { read } from './inventory.ts';
import { refuse } from './program.ts';
import type { Names } from './words.ts';

const EXAMPLE_TIME = '1800000000001';

/** The files of the example for another feature: with its pieces and names, without what it lacks. */
export function filesFrom(
  example: string,
  from: Record<string, string>,
  to: Record<string, string>,
  feature: Feature,
  time: string,
): Map<string, string> {
  const pieces = Object.entries(from).map(([name, text]) => [name, patternOf(text)] as const);
  const paths = readdirSync(example, { recursive: true, encoding: 'utf8' });
  const files = new Map<string, string>();
  const missing = new Set(Object.keys(from));
  for (const path of paths.filter((name) => /\.(?:ts|http)$/.test(name))) {
    let text = read(join(example, path));
    // Placeholders until the end, as pieces have names of their own.
    for (const [name, piece] of pieces)
      text = text.replaceAll(piece, () => {
        missing.delete(name);
        return `\0${name}\0`;
      });
    text = rename(removeUnused(text, feature), feature, time).replaceAll(
      /\0(\w+)\0/g,
      (_, name: string) => to[name]!,
    );
    const used = withUsedImports(text, feature).replaceAll(/\n{3,}/g, '\n\n');
    files.set(rename(path, feature, time), `${used.trim()}\n`);
  }
  if (missing.size > 0) throw new Error(`The example is written in another way: ${[...missing].join(', ')}`);
  return files;
}

/** A pattern for a text with any white space, and with or without commas before brackets. */
function patternOf(text: string): RegExp {
  const pattern = text.replaceAll(/\s+|[^\w\s]/g, (part) => {
    if (part === '"') return `["']?`;
    return part.trim() ? `${/[)\]}]/.test(part) ? ',?' : ''}\\s*\\${part}\\s*` : '\\s*';
  });
  return new RegExp(pattern.replaceAll(/^(?:\\s\*)+|(?:\\s\*)+$/g, ''), 'g');
}

/** Removes the paragraphs (methods, tests, requests) and lines for what a feature lacks, by the code or the pieces in them. */
function removeUnused(
  example: string,
  { owned, crud, targets, filter, state, words, aWord }: Feature,
): string {
  const cuts = [
    [targets.length > 0, /\0references\0/, /^.*const add = .*\n/gm],
    [filter, /\0(?:filtered|filteredBy|search)\0/, /$^/g],
    [state, /\0next\0/, /^.*_final(?:'\);|: \{.*)\n/gm],
    [
      crud,
      /@(?:Patch|Delete)\(|\b(?:update|remove|change)\(|^(?:const change|PATCH|DELETE) |@ChangeSchema/m,
      /^.*transactions: Transactions,\n/gm,
    ],
    [
      owned,
      /another\)|createAccount\(|accountId!/,
      /^.*(?:closing|let another|another =|Another account|one account each|account_id bigint).*\n/gm,
    ],
  ] as const;
  let text = example;
  for (const [has, paragraphs, lines] of cuts) {
    if (has) continue;
    const kept = text
      .split(/\n\n(?!\{|\0\w+Body)|\n(?=\}(?:\);)?\n*$)/)
      .filter((paragraph) => !paragraphs.test(paragraph));
    text = kept.join('\n\n').replaceAll(lines, '');
  }
  if (!crud) text = text.replace('Add, change and delete your', 'Add');
  if (owned) return text;
  return text
    .replaceAll(/(?:@AccountId\(\) )?accountId: string,\s*|, accountId(?= \})|\baccountId, |, as = key/g, '')
    .replaceAll('key: as', 'key')
    .replaceAll('one of your appointments', () => aWord)
    .replaceAll('your appointments', () => words)
    .replaceAll('of your account', 'of the store')
    .replaceAll(' of an account.', ', which all accounts share.')
    .replaceAll(" of an account'", "'");
}

function rename(example: string, names: Names, time: string): string {
  const text = example.replaceAll(EXAMPLE_TIME, () => time);
  return text.replaceAll(/\ban appointment\b(?!_)|[Aa]ppointments?/g, (word, at: number) => {
    const isMany = word.endsWith('s');
    const [before, after] = [text.slice(0, at), text.slice(at + word.length)];
    if (word.startsWith('an ')) return names.aWord;
    if (before.endsWith('tags: { ') || /DeclaredFeatures \{\s*$/.test(before)) return `'${names.files}'`;
    if (word.startsWith('A')) return isMany ? names.Names : names.Name;
    if (after.startsWith('_') || /(?:TABLE |FROM |Entity\(')$/.test(before))
      return isMany ? names.table : names.code;
    if (after.startsWith('Id') || /(?:this\.|readonly |\()$/.test(before))
      return isMany ? names.names : names.name;
    if (after.startsWith('-') || /[-/']$/.test(before)) return isMany ? names.files : names.file;
    return isMany ? names.words : names.word;
  });
}

/** Reduces the imports of a file to those it uses, of the example and of the fields of this feature. */
function withUsedImports(text: string, { files, Name, fields, targets }: Feature): string {
  const code = text.replaceAll(/^import [^]*?;$|'[^'\n]*'|\/\*\*.*?\*\//gms, '');
  const more: Record<string, string[]> = {
    'petstore/platform': [
      'PageQuery',
      ...fields.flatMap(({ decorator, filter = '' }) => [decorator, filter]),
    ],
    'petstore/product': targets.flatMap((target) => (target.isAdded ? [] : target.Name)),
  };
  return text.replaceAll(
    /^import (type )?\{([^}]*)\} from '(.+)';$/gm,
    (_, type = '', list: string, from: string) => {
      const own = /^\.\/.*\.entity\.js$/.test(from)
        ? fields.flatMap((field) => (field.words ? field.type : []))
        : [];
      const listed = new Set([...list.split(',').map((name) => name.trim()), ...own, ...(more[from] ?? [])]);
      const nameOf = (name: string) => name.replace(/^type /, '');
      const used = [...listed].filter(
        (name) => name !== '' && new RegExp(`\\b${nameOf(name)}\\b`).test(code),
      );
      if (used.map(nameOf).includes(Name) && !from.startsWith('./'))
        refuse(`"${files}" cannot be added: its class would hide the ${Name} of ${from}.`);
      const sorted = used.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
      return used.length > 0 ? `import ${type}{ ${sorted.join(', ')} } from '${from}';` : '';
    },
  );
}
