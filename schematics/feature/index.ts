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
import { makeFields } from './made.ts';
import { count, MODULES, refuseHiding, refuseTaken, spell, timeOfMigration } from './names.ts';
import { requestsOf } from './requests.ts';
import { declare, rulesOf } from './rules.ts';
import { targetIn } from './targets.ts';

export interface Options {
  name: string;
  singular?: string;
  /** The fields, such as `petId:ref(pets) date:date note?:text(1000)`; a name, if left out. */
  fields?: string;
  /** The field that the list can be filtered by: the first enumeration, if left out. */
  filter?: string;
  /** The rows that may not overlap, such as `roomId:from:until`. */
  noOverlap?: string;
  /** Whether each account has rows of its own. */
  owned?: boolean;
  /** Whether rows can be changed and deleted. */
  crud?: boolean;
  /** Whether clients give the ids, and add and replace rows by PUT. */
  put?: boolean;
}

/**
 * Writes a feature, and lists its module.
 * @throws SchematicsException that says in one line what is wrong with the name or a field
 */
export function feature({
  name,
  singular,
  fields: text = '',
  filter: by,
  noOverlap,
  owned = false,
  crud = false,
  put = false,
}: Options): Rule {
  return (tree) => {
    const { one, many } = count(name, singular);
    const names = spell(one, many, timeOfMigration(tree));
    refuseTaken(tree, names);
    const fields = makeFields(names, text || 'name:text', by, (target) => targetIn(tree, target));
    const rules = rulesOf(names, fields, owned, noOverlap);
    const content = {
      ...contentOf(names, fields, rules, { owned, crud, put }),
      requests: requestsOf(tree, names, fields, { crud, put }),
    };
    return chain([
      mergeWith(apply(url('./files'), [applyTemplates(content), refuseHiding(names)])),
      declare(names, rules),
      ...content.joins.map((list) =>
        mergeWith(
          apply(url('./files-join'), [
            applyTemplates({
              ...list,
              ...names,
              idType: content.idType,
              join: list.join!,
              joinFile: list.join!.file,
            }),
          ]),
        ),
      ),
      ...(content.isLarge ? [mergeWith(apply(url('./files-large'), [applyTemplates(content)]))] : []),
      insertBefore(
        MODULES,
        /^\n/m,
        `import { ${names.Names}Module } from './${names.files}/${names.files}.module.js';\n`,
      ),
      insertBefore(MODULES, /^\]\)?;$/m, `  ${names.Names}Module,\n`),
      formatChanged,
    ]);
  };
}

/** Names are of different lengths, and so are the lines that have them. */
async function formatChanged(tree: Tree): Promise<void> {
  const changed = new Set(tree.actions.map(({ path }) => path));
  // Loaded only here: a name that is refused is refused at once.
  const prettier = await import('prettier').catch(() => undefined);
  // A repository that is just being made has none yet, and formats itself once it has.
  if (!prettier) return;
  const { format, getFileInfo, resolveConfig } = prettier;
  const options = await resolveConfig('package.json');
  for (const path of changed) {
    if (!(await getFileInfo(path)).inferredParser) continue;
    tree.overwrite(path, await format(tree.readText(path), { ...options, filepath: path }));
  }
}
