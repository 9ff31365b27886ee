import type { ObjectLiteral, QueryBuilder } from 'typeorm';
import { byTheirNames, type Source } from './compiler.js';

/** A query that a feature defines itself, built once. `CompiledEntityManager.prepared` runs it. */
export interface PreparedQuery<Entity> {
  /** Distinguishes it from the entity's other queries. */
  name: string;
  /** The columns of its rows, in this order. */
  columns: readonly (keyof Entity & string)[];
  parameters: readonly string[];
  /** Builds it; in SQL, `$1` stands for the first of the parameters. */
  build: () => QueryBuilder<Entity & ObjectLiteral> | string;
}

/** What the statement is built from. */
export function sourceOf<Entity>({ parameters, build }: PreparedQuery<Entity>): Source {
  const source = build();
  if (typeof source === 'string') return { text: source, parameters };
  return source.setParameters(byTheirNames(parameters));
}
