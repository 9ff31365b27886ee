import { type Field, fieldsOf } from './fields.ts';
import type { Inventory, Target } from './inventory.ts';
import type { Names } from './words.ts';

export interface FeatureOptions {
  /** The plural, in kebab case. */
  many: string;
  singular?: string;
  /** Such as `petId:ref(pets),date:date,note?:text(1000)`; a name when left out. */
  fields?: string;
  owned?: boolean;
  crud?: boolean;
}

export interface Feature extends Names {
  owned: boolean;
  crud: boolean;
  fields: Field[];
  /** The fields of a new row that a client sends: all but the state. */
  sent: Field[];
  /** The field with the state: its first word in a new row; every other word is final. */
  state?: Field;
  filter?: Field;
  targets: Target[];
  /** The requests that create rows which it refers to, by name. */
  needed: Map<string, string>;
  indexes: { name: string; properties: string[]; columns: string[] }[];
}

export function describe(
  names: Names,
  { fields: text = 'name:text', owned = false, crud = false }: FeatureOptions,
  inventory: Inventory,
): Feature {
  const fields = fieldsOf(text, names, inventory);
  const filter = fields.find(({ words }) => words) ?? fields.find(({ target }) => target);
  const state = fields.find(({ name, words, optional }) => crud && name === 'status' && words && !optional);
  const targets = [
    ...new Map(fields.flatMap(({ target }) => (target ? [[target.table, target]] : []))).values(),
  ];
  return {
    ...{ ...names, owned, crud, fields, filter, state, targets },
    sent: fields.filter((field) => field !== state),
    needed: inventory.requestsOf(targets.map(({ request }) => request)),
    indexes: indexesOf(names.table, fields, owned, filter),
  };
}

/** An index for each list, so that a page costs the same at any depth, and for each reference. */
function indexesOf(table: string, fields: Field[], owned: boolean, filter?: Field): Feature['indexes'] {
  const account = owned ? [{ name: 'accountId', columnName: 'account_id' }] : [];
  const id = { name: 'id', columnName: 'id' };
  const lists = [account, filter ? [...account, filter] : []].filter((parts) => parts.length > 0);
  const leading = new Set(lists.map(([first]) => first!.columnName));
  const references = fields.filter(({ target, columnName }) => target && !leading.has(columnName));
  return [...lists.map((parts) => [...parts, id]), ...references.map((field) => [field])].map((parts) => {
    const columns = parts.map(({ columnName }) => columnName);
    return { name: `${table}_${columns.join('_')}_idx`, properties: parts.map(({ name }) => name), columns };
  });
}
