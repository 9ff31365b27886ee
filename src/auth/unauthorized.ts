import { ApiError } from 'petstore/platform';

/** RFC 9110, 11.6.1: a 401 names the scheme to use. RFC 6750, 3.1: `invalid_token` for a key that is not valid. */
export function unauthorized(code: 'missing_api_key' | 'invalid_api_key' | 'invalid_credentials'): ApiError {
  const challenges = {
    missing_api_key: 'Bearer realm="petstore"',
    invalid_api_key: 'Bearer realm="petstore", error="invalid_token"',
    invalid_credentials: 'Basic realm="petstore", charset="UTF-8"',
  };
  return new ApiError(code, undefined, { headers: { 'WWW-Authenticate': challenges[code] } });
}
