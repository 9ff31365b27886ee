import type { Rule, Tree } from '@angular-devkit/schematics';
import type { Made } from './made.ts';
import type { Names } from './names.ts';
import { refuse } from './specs.ts';
import { words } from './words.ts';

/** What the table of a feature keeps to: a constraint, and what a client is told that violates it. */
export interface Constraint {
  name: string;
  code: string;
  /** The status, where it is not the code's own. */
  status?: number;
  /** The constant of the service. */
  constant: string;
}

/** Rows that do not overlap. */
export interface Overlap {
  key: Made;
  from: Made;
  until: Made;
  /** The constraint that the one day is before the other, and the one that the rows do not overlap. */
  check: string;
  exclusion: string;
}

/** Constraints of a table that a client can violate. */
export interface Rules {
  constraints: Constraint[];
  uniques: Made[];
  overlap?: Overlap;
  /** The codes that are the feature's own, besides that of a row that is not there. */
  codes: { code: string; status: number; meaning: string }[];
}

/** @throws SchematicsException that says which field cannot be part of an overlap */
export function rulesOf(names: Names, fields: readonly Made[], owned: boolean, noOverlap?: string): Rules {
  const { table, code, word, words: many, aWord } = names;
  const uniques = fields.filter(({ isUnique }) => isUnique);
  const overlap = noOverlap === undefined ? undefined : overlapOf(table, fields, noOverlap);
  const constraints: Constraint[] = fields.flatMap(({ columnName, constant, target, join }) =>
    target
      ? {
          name: join ? `${join.table}_${join.other.column}_fkey` : `${table}_${columnName}_fkey`,
          code: target.code,
          status: 400,
          constant: `${constant}_MISSING`,
        }
      : [],
  );
  const codes: Rules['codes'] = [];
  for (const one of uniques)
    constraints.push({
      name: uniqueOf(table, one, owned),
      code: `${code}_exists`,
      constant: `${one.constant}_TAKEN`,
    });
  if (uniques.length > 0) {
    const same = uniques.map(({ name }) => words(name)).join(' or ');
    codes.push({ code: `${code}_exists`, status: 409, meaning: `There is ${aWord} with this ${same}.` });
  }
  if (overlap) {
    constraints.push(
      { name: overlap.check, code: `${code}_ends_too_early`, constant: 'ENDS_TOO_EARLY' },
      { name: overlap.exclusion, code: `${table}_overlap`, constant: 'OVERLAPS' },
    );
    codes.push(
      {
        code: `${code}_ends_too_early`,
        status: 400,
        meaning: `The ${word} must end after the day on which it begins.`,
      },
      { code: `${table}_overlap`, status: 409, meaning: `Another of the ${many} takes some of these days.` },
    );
  }
  return { constraints, uniques, overlap, codes };
}

/** The name of a unique constraint. Of an account's rows, the account comes last: lists have indexes that begin with it. */
export function uniqueOf(table: string, { columnName }: Made, owned: boolean): string {
  return `${table}_${columnName}${owned ? '_account_id' : ''}_key`;
}

/** The condition of an overlap, which a role without more than its own tables can keep: it takes no extension. */
export function exclusionOf({ key, from, until }: Overlap): string {
  const one = `numrange(${key.columnSql}, ${key.columnSql}, '[]')`;
  return `USING gist (${one} WITH &&, daterange(${from.columnSql}, ${until.columnSql}) WITH &&)`;
}

/** The condition that the one day is before the other. */
export const beforeOf = ({ from, until }: Overlap): string => `${from.columnSql} < ${until.columnSql}`;

function overlapOf(table: string, fields: readonly Made[], text: string): Overlap {
  const parts = text.split(':').map((name) => fields.find((one) => one.name === name.trim()));
  const [key, from, until] = parts;
  const areDays = [from, until].every((one) => one?.kind === 'date' && !one.optional);
  if (parts.length !== 3 || !areDays || key?.kind !== 'ref' || key.optional || from === until)
    refuse(
      `--no-overlap ${text} needs a reference and two days that are not optional, such as roomId:from:until.`,
    );
  const check = `${table}_${from!.columnName}_${until!.columnName}_check`;
  if (check.length > 63) refuse(`${check} is too long: PostgreSQL cuts names after 63 bytes.`);
  // So that one is before the other in the document too.
  Object.assign(from!, { example: "'2030-01-31'", other: "'2030-01-30'" });
  Object.assign(until!, { example: "'2030-02-03'", other: "'2030-02-04'" });
  return { key, from: from!, until: until!, check, exclusion: `${table}_overlap_excl` };
}

/** Declares the codes beside that of a row that is not there. */
export function declare({ files, code }: Names, { codes }: Rules): Rule {
  return (tree: Tree) => {
    const lines = codes.map(
      (one) => `  ${one.code}: { status: ${one.status}, meaning: '${one.meaning}' },\n`,
    );
    if (lines.length === 0) return;
    const missing = new RegExp(`^ +${code}_not_found: .*\n`, 'm');
    tree.getDir(`src/${files}`).visit((path) => {
      const text = tree.readText(path);
      const found = path.endsWith('.ts') && missing.exec(text);
      if (!found) return;
      const end = found.index + found[0].length;
      tree.overwrite(path, text.slice(0, end) + lines.join('') + text.slice(end));
    });
  };
}
