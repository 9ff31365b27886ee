import type { Tree } from '@angular-devkit/schematics';
import { declaresCode } from './names.ts';
import { refuse } from './specs.ts';
import { withArticle } from './words.ts';

/** A feature that another one refers to. */
export interface Target {
  /** Its table, its entity and where that is, and the code for one that is not there. */
  table: string;
  Name: string;
  path: string;
  folder: string;
  code: string;
  word: string;
  aWord: string;
  /** Whether a team has added it. */
  isAdded: boolean;
}

const PRODUCT = new Set(['auth', 'categories', 'messages', 'pets', 'store']);

/** Finds the feature whose table has that name. @throws SchematicsException where there is none to refer to */
export function targetIn(tree: Tree, given: string): Target {
  const table = given.replaceAll('-', '_');
  let found: Target | undefined;
  tree.getDir('src').visit((path) => {
    if (!path.endsWith('.entity.ts')) return;
    const [, Name] =
      new RegExp(`@Entity\\('${table}'[^]*?export class (\\w+)`).exec(tree.readText(path)) ?? [];
    if (!Name) return;
    const [, , folder, file] = path.split('/');
    const word = file!.replace('.entity.ts', '').replaceAll('-', ' ');
    const code = `${word.replaceAll(' ', '_')}_not_found`;
    found = {
      table,
      Name,
      path: `../${folder}/${file!.replace('.ts', '.js')}`,
      folder: folder!,
      code,
      word,
      aWord: withArticle(word),
      isAdded: !PRODUCT.has(folder!),
    };
  });
  if (!found) refuse(`ref(${given}): there is no table ${table}.`);
  if (!declaresCode(tree, found.code)) refuse(`ref(${given}): there is no code ${found.code}.`);
  return found;
}
