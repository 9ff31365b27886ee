/** A permission, and the status of a request that needs it; `body` if the request's body decides the need. */
export interface Choice {
  body?: Record<string, unknown>;
  needs: string;
  status: number;
}

/** Facts about a feature that neither the document nor the database contains: `facts` of `test/<feature>.facts.ts`. */
export interface Facts {
  /** Requests and statuses, by operation, if one of several permissions suffices or a row is refused. */
  choices?: Record<string, Choice[]>;
  /** Query parameters, by operation, that no other filter may accompany: the answer would be 400. */
  alone?: Record<string, string[]>;
  /** Tables by the word in a path, if the two names differ. */
  tables?: Record<string, string>;
  /** Statements that insert rows numbered `from` to `to`, where copies of one row would be invalid. */
  rows?: (from: number, to: number) => string[];
}
