/** The response headers that the document describes. */
export const HEADERS = {
  'X-Request-Id': {
    description: 'Identifies the request, here and in the logs.',
    required: true,
    schema: { type: 'string' },
    example: '32b5804c-9fa2-45ef-ac83-767ea6d74ac2',
  },
  Location: {
    description: 'Address of what was created.',
    required: true,
    schema: { type: 'string', format: 'uri' },
    example: 'http://localhost:3000/v1/pets/1',
  },
  ETag: {
    description: 'Identifies this state of what was asked for: another one has another (RFC 9110, 8.8.3).',
    required: true,
    schema: { type: 'string' },
    example: '"Zm9yIGFuIG9yZGVyIGhlcm"',
  },
  'Idempotency-Replayed': {
    description: '`true` if this repeats the answer to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
    example: 'true',
  },
  RateLimit: {
    description: 'How many requests are left (`r`), and seconds until the count resets (`t`).',
    schema: { type: 'string' },
    example: '"auth";r=0;t=30',
  },
  'RateLimit-Policy': {
    description: 'How many requests (`q`) are allowed within how many seconds (`w`).',
    schema: { type: 'string' },
    example: '"auth";q=20;w=60',
  },
  Link: {
    description: 'Address of the next page (`rel="next"`); absent on the last one.',
    schema: { type: 'string' },
    example: '<http://localhost:3000/v1/pets?limit=20&cursor=YWZ0ZXI6MjA>; rel="next"',
  },
  'WWW-Authenticate': {
    description: 'The authentication scheme to use.',
    required: true,
    schema: { type: 'string' },
    example: 'Bearer realm="petstore"',
  },
  'Retry-After': {
    description: 'Seconds to wait before trying again.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  Deprecation: {
    description: 'When the operation was deprecated (RFC 9745).',
    required: true,
    schema: { type: 'string' },
    example: '@1795219200',
  },
  Sunset: {
    description: 'When the operation is removed (RFC 8594).',
    required: true,
    schema: { type: 'string' },
    example: 'Thu, 05 Dec 2030 00:00:00 GMT',
  },
  Successor: {
    description: 'The operation to use instead (`rel="successor-version"`).',
    required: true,
    schema: { type: 'string' },
    example: '</v1/pets>; rel="successor-version"',
  },
};

type Header = keyof typeof HEADERS;

/** The names of these headers in a response. */
export const HEADER_NAMES = [...new Set((Object.keys(HEADERS) as Header[]).map(nameOf))];

/** References to headers by their names in a response. */
export function headerReferences(headers: Header[]): Record<string, { $ref: string }> {
  return Object.fromEntries(headers.map((name) => [nameOf(name), { $ref: `#/components/headers/${name}` }]));
}

function nameOf(header: Header): string {
  return header === 'Successor' ? 'Link' : header;
}
