/** A body whose value decides the permission needed, and the resulting status; or only the permission and status. */
export interface Choice {
  body?: Record<string, unknown>;
  needs: string;
  status: number;
}

/** Facts about a feature that neither the document nor the database contains: `facts` of `test/<feature>.facts.ts`. */
export interface Facts {
  /** Operations that accept one of several permissions, or refuse a new row: requests and their statuses. */
  choices?: Record<string, Choice[]>;
  /** Query parameters, by operation, that no other filter may accompany: the answer would be 400. */
  alone?: Record<string, string[]>;
  /** Tables by words of paths, where the names differ. */
  tables?: Record<string, string>;
  /** Statements that insert rows numbered `from` to `to`, where copies of one row would be invalid. */
  rows?: (from: number, to: number) => string[];
}
