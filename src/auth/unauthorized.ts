import { ApiError } from 'petstore/platform';

/** A 401 names the scheme to use (RFC 9110, 11.6.1), and `invalid_token` for an invalid key or token (RFC 6750, 3.1). */
export function unauthorized(
  code: 'missing_api_key' | 'invalid_api_key' | 'invalid_credentials' | 'invalid_token',
  message?: string,
): ApiError {
  const challenges = {
    missing_api_key: 'Bearer realm="petstore"',
    invalid_api_key: 'Bearer realm="petstore", error="invalid_token"',
    invalid_token: 'Bearer realm="petstore", error="invalid_token"',
    invalid_credentials: 'Basic realm="petstore", charset="UTF-8"',
  };
  return new ApiError(code, message, { headers: { 'WWW-Authenticate': challenges[code] } });
}
