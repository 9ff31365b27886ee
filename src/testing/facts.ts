import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** A body whose value decides the permission needed, and the resulting status; or only the permission and status. */
export interface Choice {
  body?: Record<string, unknown>;
  needs: string;
  status: number;
}

/** Facts about a feature that neither the document nor the database tells: `facts` of `test/<feature>.facts.ts`. */
export interface Facts {
  /** Operations that accept one of several permissions, or refuse a new row: requests and their statuses. */
  choices?: Record<string, Choice[]>;
  /** Unique fields of a body, by operation, beyond those of constraints. */
  distinct?: Record<string, string[]>;
  /** Query parameters, by operation, that no other filter may accompany: the answer would be 400. */
  alone?: Record<string, string[]>;
  /** Tables by words of paths, where the names differ. */
  tables?: Record<string, string>;
  /** Statements that insert rows numbered `from` to `to`, where copies of one row would be invalid. */
  rows?: (from: number, to: number) => string[];
}

/** The facts of all features, in `test/*.facts.ts` of the working directory. */
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
