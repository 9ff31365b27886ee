/** A body whose value decides which of the permissions of its operation is needed, and what comes of it; or only that. */
export interface Choice {
  body?: Record<string, unknown>;
  needs: string;
  status: number;
}

/** What the tests of every operation are told of a feature, as neither the document nor the database says so. */
export interface Facts {
  /** Operations that let one of several permissions in, or refuse a new row: what they are asked for, and answer. */
  choices?: Record<string, Choice[]>;
  /** Fields of a body, by operation, of which no two may be alike, beyond those that a constraint names. */
  distinct?: Record<string, string[]>;
  /** Tables, by the words in paths for them, where these are others. */
  tables?: Record<string, string>;
  /** Statements that add rows to tables, numbered from one number to another: what copies of one row cannot be. */
  rows?: (from: number, to: number) => string[];
}

/** The facts of several features as those of one. */
export function joined(all: readonly Facts[]): Required<Facts> {
  return {
    choices: Object.assign({}, ...all.map(({ choices }) => choices)) as Record<string, Choice[]>,
    distinct: Object.assign({}, ...all.map(({ distinct }) => distinct)) as Record<string, string[]>,
    tables: Object.assign({}, ...all.map(({ tables }) => tables)) as Record<string, string>,
    rows: (from, to) => all.flatMap(({ rows }) => rows?.(from, to) ?? []),
  };
}
