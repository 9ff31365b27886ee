// Generated from openapi.json by generate.ts.

/** What the document says of an operation. */
export interface Facts {
  /** Whether it has an `Idempotency-Key`, so that all its tries count as one. */
  takesKey?: boolean;
  /** Whether its success is 204, without a body. */
  answersNothing?: boolean;
}

/** Those of which there is something to say, by method and path. */
export const OPERATIONS: Readonly<Record<string, Facts>> = {
  'DELETE /api-keys/current': { answersNothing: true },
  'DELETE /api-keys/{keyId}': { answersNothing: true },
  'DELETE /accounts/current': { answersNothing: true },
  'POST /pets': { takesKey: true },
  'POST /categories': { takesKey: true },
  'POST /store/orders': { takesKey: true },
  'PATCH /store/orders/{orderId}': { takesKey: true },
  'POST /messages': { takesKey: true },
};
