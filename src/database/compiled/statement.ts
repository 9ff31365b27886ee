/** A query whose SQL is fixed. A connection has it parsed once, under its name, and from then on only runs it. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  /** The names of the values that its placeholders stand for, `$1` first. */
  readonly parameters: readonly string[];
  /** The properties of the entity that a row of its answer holds, in their order. */
  readonly columns: readonly string[];
}
