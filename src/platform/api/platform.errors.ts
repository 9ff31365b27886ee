/** The errors that no feature owns. */
export const PLATFORM_ERRORS = {
  bad_request: {
    status: 400,
    meaning: 'The request is not valid HTTP.',
    advice: 'Use an HTTP library: the request is not valid HTTP.',
  },
  invalid_json: {
    status: 400,
    meaning: 'The request body is not valid JSON in UTF-8.',
    advice: 'Write the body with a JSON library, in UTF-8.',
  },
  invalid_content_type: {
    status: 400,
    meaning: 'The request needs the header Content-Type: application/json.',
    advice: 'Add the header Content-Type: application/json.',
  },
  validation_failed: { status: 400, meaning: 'A parameter or a field of the body has an invalid value.' },
  invalid_cursor: {
    status: 400,
    meaning: 'The cursor does not come from a Link header of this list with these filters and this order.',
    advice: 'Start at the first page, and follow its Link header without changing the address.',
  },
  missing_api_key: {
    status: 401,
    meaning: 'The request needs an API key in its Authorization header: Bearer, then the key.',
    advice: 'Add the header Authorization: Bearer, then the key.',
  },
  invalid_api_key: {
    status: 401,
    meaning: 'The API key is not valid.',
    advice:
      'Check that the key is complete and belongs to this service. If it expired or was revoked, create another.',
  },
  invalid_credentials: {
    status: 401,
    meaning: 'The email and password are missing or wrong.',
    advice: 'Check the email and the password. After many failures, wait a minute.',
  },
  permission_denied: {
    status: 403,
    meaning: 'The API key lacks a permission, or may not be used from this address; the message names which.',
    advice:
      'Use another key, or ask the owner of the account to add the permission, or your network, to this key.',
  },
  route_not_found: {
    status: 404,
    meaning: 'There is nothing at this address.',
    advice: 'Check the address: it begins with /v1, and the reference lists every operation.',
  },
  method_not_allowed: {
    status: 405,
    meaning: 'The method is not allowed at this address.',
    advice: 'Use one of the methods that the Allow header names.',
  },
  request_timeout: {
    status: 408,
    meaning: 'The request did not arrive in time.',
    advice: 'Send it again, all of it at once, over a connection that is fast enough.',
  },
  idempotency_key_in_use: {
    status: 409,
    meaning: 'The first request with this Idempotency-Key is still running.',
    advice: 'Wait a moment, then send the same request again.',
  },
  operation_removed: {
    status: 410,
    meaning: 'The operation has been removed.',
    advice: 'Use the successor that the Link header names.',
  },
  precondition_failed: {
    status: 412,
    meaning: 'The current state is not one that the If-Match header names.',
    advice: 'Fetch the resource again, look at what has changed, and send its new ETag.',
  },
  payload_too_large: {
    status: 413,
    meaning: 'The request body is larger than 100 kB.',
    advice: 'Send less at once.',
  },
  unsupported_encoding: {
    status: 415,
    meaning: 'The Content-Encoding of the request body is not gzip, deflate or br.',
    advice: 'Send the body as it is, or compressed with gzip, deflate or br.',
  },
  range_not_satisfiable: {
    status: 416,
    meaning: 'The range in the Range header starts beyond the end of the resource.',
    advice: 'Request a range within the length that the Content-Range header names, or the whole resource.',
  },
  expectation_failed: {
    status: 417,
    meaning: 'The expectation in the Expect header cannot be met.',
    advice: 'Leave the Expect header out, or send 100-continue.',
  },
  idempotency_key_reused: {
    status: 422,
    meaning: 'The Idempotency-Key was used before with another request.',
    advice: 'Make a new key for each new request; repeat a key only with the same request.',
  },
  rate_limited: {
    status: 429,
    meaning: 'Too many requests.',
    advice: 'Wait as many seconds as Retry-After says.',
  },
  headers_too_large: {
    status: 431,
    meaning: 'The request headers are larger than 16 kB.',
    advice: 'Send fewer or shorter headers and cookies, or a shorter address.',
  },
  internal_error: { status: 500, meaning: 'Something went wrong on our side.' },
  service_unavailable: { status: 503, meaning: 'The service cannot answer right now. Try again shortly.' },
};
