// Generated from openapi.json by generate.ts.

/** Facts of an operation in the document. */
export interface Facts {
  /** Whether it accepts an `Idempotency-Key`, so that a write can be repeated. */
  takesKey?: boolean;
  /** Whether its success is 204, without a body. */
  answersNothing?: boolean;
}

/** The facts by method and path; operations without any are left out. */
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
