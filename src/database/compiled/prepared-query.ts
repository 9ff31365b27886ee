import type { ObjectLiteral, QueryBuilder } from 'typeorm';
import { byTheirNames, type Source } from './compiler.js';

/** A query of a feature's own, which is built once. `CompiledEntityManager.prepared` runs it. */
export interface PreparedQuery<Entity> {
  /** Tells it from the entity's others. */
  name: string;
  /** What its rows hold, in this order. */
  columns: readonly (keyof Entity & string)[];
  parameters: readonly string[];
  /** Builds it; in SQL, `$1` stands for the first of the parameters. */
  build: () => QueryBuilder<Entity & ObjectLiteral> | string;
}

/** What the query's statement is made of. */
export function sourceOf<Entity>({ parameters, build }: PreparedQuery<Entity>): Source {
  const source = build();
  if (typeof source === 'string') return { text: source, parameters };
  return source.setParameters(byTheirNames(parameters));
}
