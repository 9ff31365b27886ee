import type { Tree } from '@angular-devkit/schematics';
import { declaresCode } from './names.ts';
import { refuse } from './specs.ts';
import { withArticle } from './words.ts';

/** A feature that another one refers to. */
export interface Target {
  /** Its table, its entity and the module that that is imported from, and the code for one that is not there. */
  table: string;
  Name: string;
  path: string;
  code: string;
  word: string;
  aWord: string;
  /** Whether a team has added it. */
  isAdded: boolean;
}

/** The tables of the pet store that others may refer to, as `petstore/product` exports their entities. */
const PRODUCT: Record<string, string> = { categories: 'Category', orders: 'Order', pets: 'Pet' };

/** Finds the feature whose table has that name. @throws SchematicsException where there is none to refer to */
export function targetIn(tree: Tree, given: string): Target {
  const table = given.replaceAll('-', '_');
  const ofProduct = PRODUCT[table];
  let found = ofProduct && targetOf(table, ofProduct, ofProduct.toLowerCase(), 'petstore/product', false);
  tree.getDir('src').visit((path) => {
    if (found || !path.endsWith('.entity.ts')) return;
    const text = tree.readText(path);
    const [, Name] = new RegExp(`@Entity\\('${table}'[^]*?export class (\\w+)`).exec(text) ?? [];
    if (!Name) return;
    if (!text.includes('@IdColumn(')) refuse(`ref(${given}): the ids there are no integers.`);
    const [, , folder, file] = path.split('/');
    const word = file!.replace('.entity.ts', '').replaceAll('-', ' ');
    found = targetOf(table, Name, word, `../${folder}/${file!.replace('.ts', '.js')}`, true);
  });
  if (!found) refuse(`ref(${given}): there is no table ${table}.`);
  if (found.isAdded && !declaresCode(tree, found.code))
    refuse(`ref(${given}): there is no code ${found.code}.`);
  return found;
}

function targetOf(table: string, Name: string, word: string, path: string, isAdded: boolean): Target {
  const code = `${word.replaceAll(' ', '_')}_not_found`;
  return { table, Name, path, code, word, aWord: withArticle(word), isAdded };
}
