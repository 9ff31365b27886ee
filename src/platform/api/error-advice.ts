import { type ErrorCode, factsOf } from './error-codes.js';

/** What a client does about a failure of a status, where its code has no advice of its own. */
const BY_STATUS: Record<number, string> = {
  400: 'Correct what the message names. Sent again as it is, the request is refused again.',
  401: 'Send other credentials.',
  403: 'Ask whoever runs the service for access.',
  404: 'Check the id. What belongs to another account is not found either.',
  409: 'Read the present state, and decide anew.',
  500: 'Send it again after a pause. If it stays so, report it with the X-Request-Id of the answer.',
  503: 'Wait as many seconds as Retry-After says, then send it again, and wait longer each time.',
};

/** What a client does about an error, in a sentence or two. */
export function adviceOn(code: ErrorCode): string {
  const { status, advice } = factsOf(code);
  return advice ?? BY_STATUS[status] ?? BY_STATUS[400]!;
}
