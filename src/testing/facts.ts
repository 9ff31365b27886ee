import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A body whose value decides which of the permissions of its operation is needed, and what comes of it; or only that. */
export interface Choice {
  body?: Record<string, unknown>;
  needs: string;
  status: number;
}

/**
 * What the tests of every operation are told of a feature, as neither the document nor the database says so:
 * `test/<feature>.facts.ts` exports it as `facts`.
 */
export interface Facts {
  /** Operations that let one of several permissions in, or refuse a new row: what they are asked for, and answer. */
  choices?: Record<string, Choice[]>;
  /** Fields of a body, by operation, of which no two may be alike, beyond those that a constraint names. */
  distinct?: Record<string, string[]>;
  /** Query parameters, by operation, that are asked for without any other filter: beside one, they answer 400. */
  alone?: Record<string, string[]>;
  /** Tables, by the words in paths for them, where these are others. */
  tables?: Record<string, string>;
  /** Statements that add rows to tables, numbered from one number to another: what copies of one row cannot be. */
  rows?: (from: number, to: number) => string[];
}

/** What all features say of themselves, in the `test/*.facts.ts` of the working directory. */
export async function loadFacts(): Promise<Required<Facts>> {
  const files = globSync('test/*.facts.ts').map((file) => pathToFileURL(resolve(file)).href);
  const loaded = await Promise.all(files.map((file) => import(file) as Promise<{ facts: Facts }>));
  const all = loaded.map(({ facts }) => facts);
  return {
    choices: Object.assign({}, ...all.map(({ choices }) => choices)) as Record<string, Choice[]>,
    distinct: Object.assign({}, ...all.map(({ distinct }) => distinct)) as Record<string, string[]>,
    alone: Object.assign({}, ...all.map(({ alone }) => alone)) as Record<string, string[]>,
    tables: Object.assign({}, ...all.map(({ tables }) => tables)) as Record<string, string>,
    rows: (from, to) => all.flatMap(({ rows }) => rows?.(from, to) ?? []),
  };
}
