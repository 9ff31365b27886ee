import { ERROR_CODES, type ErrorCode } from './api-error.js';

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

/** What a client does about a code, where that is more than what its status says. */
const BY_CODE: Partial<Record<ErrorCode, string>> = {
  bad_request: 'Use an HTTP library: the request was not written as HTTP has it.',
  invalid_json: 'Write the body with a JSON library, in UTF-8.',
  invalid_content_type: 'Add the header Content-Type: application/json.',
  invalid_cursor: 'Begin at the first page, and follow its Link header without changing the address.',
  missing_api_key: 'Add the header Authorization: Bearer, then the key.',
  invalid_api_key:
    'Check that the key is whole and of this service. If it expired or was revoked, make another one.',
  invalid_credentials: 'Check the email and the password. After many failures, wait a minute.',
  permission_denied: 'Use a key that has the permission, or let the owner of the account add it to this one.',
  sign_up_closed: 'Ask whoever runs the service for an invitation, and send it as invitation.',
  category_not_found: 'Choose one of GET /categories.',
  route_not_found: 'Check the address: it begins with /v1, and the reference lists all that there is.',
  method_not_allowed: 'Use one of the methods that the Allow header names.',
  request_timeout: 'Send it again, all of it at once, over a connection that is fast enough.',
  account_exists: 'Use that account, or sign up with another email.',
  too_many_api_keys: 'Delete keys that are no longer used: lastUsedAt tells which.',
  category_exists: 'Find it in GET /categories, and use it.',
  pet_not_available: 'Order another animal, or wait until this one is available again.',
  invalid_transition: 'Fetch the order, and see which status it has.',
  idempotency_key_in_use: 'Wait a moment, then send the same request again.',
  operation_removed: 'Use the operation that the Link header of its answers names as its successor.',
  precondition_failed: 'Fetch it again, look at what has changed, and send its new ETag.',
  payload_too_large: 'Send less at once.',
  unsupported_encoding: 'Send the body as it is, or compressed with gzip, deflate or br.',
  expectation_failed: 'Leave the Expect header out, or send 100-continue.',
  idempotency_key_reused: 'Make a new key for each new request, and keep one only for its repetitions.',
  rate_limited: 'Wait as many seconds as Retry-After says.',
  headers_too_large: 'Send fewer or shorter headers and cookies, or a shorter address.',
};

/** What a client does about an error, in a sentence or two. */
export function adviceOn(code: ErrorCode): string {
  return BY_CODE[code] ?? BY_STATUS[ERROR_CODES[code].status] ?? BY_STATUS[400]!;
}
