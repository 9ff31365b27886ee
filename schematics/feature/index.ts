import {
  apply,
  applyTemplates,
  chain,
  mergeWith,
  type Rule,
  type Tree,
  url,
} from '@angular-devkit/schematics';
import { contentOf } from './content.ts';
import { insertBefore } from './insert.ts';
import { makeFields, type Made } from './made.ts';
import { count, MODULES, type Names, refuseHiding, refuseTaken, spell, timeOfMigration } from './names.ts';
import { requestsOf } from './requests.ts';
import { targetIn } from './targets.ts';

export interface Options {
  name: string;
  singular?: string;
  /** The fields, such as `petId:ref(pets) date:date note?:text(1000)`; a name, if left out. */
  fields?: string;
  /** The field that the list can be filtered by: the first enumeration, if left out. */
  filter?: string;
  /** Whether each account has rows of its own. */
  owned?: boolean;
  /** Whether rows can be changed and deleted. */
  crud?: boolean;
}

const PERMISSIONS = 'src/platform/api/permissions.ts';
const IMPORTS = '.dependency-cruiser.js';

/**
 * Writes a feature, and registers its module and its permissions.
 * @throws SchematicsException that says in one line what is wrong with the name or a field
 */
export function feature({
  name,
  singular,
  fields: text = '',
  filter: by,
  owned = false,
  crud = false,
}: Options): Rule {
  return (tree) => {
    const { one, many } = count(name, singular);
    const names = spell(one, many, timeOfMigration(tree));
    refuseTaken(tree, names);
    const fields = makeFields(names, text || 'name:text', by, (target) => targetIn(tree, target));
    const content = {
      ...contentOf(names, fields, owned, crud),
      requests: requestsOf(tree, names, fields, crud),
    };
    return chain([
      mergeWith(apply(url('./files'), [applyTemplates(content), refuseHiding(names)])),
      ...(content.isLarge ? [mergeWith(apply(url('./files-large'), [applyTemplates(content)]))] : []),
      importModule(names),
      // After the features, which a blank line divides from the platform.
      insertBefore(MODULES, /^\n(?= {4}\w+,$)/m, `    ${names.Names}Module,\n`),
      insertBefore(PERMISSIONS, /^\} as const;$/m, permissions(names, owned, crud)),
      allowImports(names, fields, owned),
      formatChanged,
    ]);
  };
}

/** The permissions of a feature, and what they are for. */
function permissions({ files, words }: Names, owned: boolean, crud: boolean): string {
  const whose = owned ? `your ${words}` : words;
  const write = crud ? `Add, change and delete ${whose}` : `Add ${words}`;
  return `  '${files}:read': 'List and fetch ${whose}.',\n  '${files}:write': '${write}.',\n`;
}

/** Imports the module of a feature where its path has its place among the others. */
function importModule({ Names: many, files }: Names): Rule {
  return (tree) => {
    const path = `./${files}/${files}.module.js`;
    const imports = [...tree.readText(MODULES).matchAll(/^import .* from '(\..*)';\n/gm)];
    const next = imports.find(([, other]) => other! > path);
    insertBefore(MODULES, next?.[0] ?? /^\n/m, `import { ${many}Module } from '${path}';\n`)(tree);
  };
}

/** A feature may refer to those of the product; to another one that was added, only if it says so. */
function allowImports({ files }: Names, fields: readonly Made[], owned: boolean): Rule {
  const folders = new Set(fields.flatMap(({ target }) => (target ? [target.folder] : [])));
  if (owned) folders.add('auth');
  return (tree: Tree) => {
    if (!fields.some(({ target }) => target?.isAdded)) return;
    const list = [...folders].map((folder) => `'${folder}'`).join(', ');
    insertBefore(IMPORTS, /^};\nconst ANYWHERE/m, `  '${files}': [${list}],\n`)(tree);
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
