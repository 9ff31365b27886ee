/** A query with fixed SQL. A connection parses it once, under its name, and from then on only runs it. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** The names of the placeholders' values, `$1` first. */
  readonly parameters: readonly string[];
  /** The entity's properties in each row of the answer, in order. */
  readonly columns: readonly string[];
}
