import type { components } from './schema.d.ts';

type Failure = components['schemas']['Error'];

/** An answer that is no success. Switch on its `code`; the `message` is for people, and may change. */
export class PetstoreError extends Error {
  override readonly name = 'PetstoreError';
  /** One of the document's codes, to which new ones may come; `unknown` if something in between has answered. */
  readonly code: Failure['code'];
  /** The status of the response. */
  readonly status: number;
  /** Its headers: `X-Request-Id` for whoever operates the service, `Retry-After`. */
  readonly headers: Headers;

  /** @param body that of the response */
  constructor({ status, statusText, headers }: Response, body: string) {
    const { code = 'unknown', message = `${status} ${statusText}` } = read(body);
    super(message);
    this.code = code;
    this.status = status;
    this.headers = headers;
  }
}

/** What something in between answers may be anything. */
function read(body: string): Partial<Failure> {
  try {
    return Object(JSON.parse(body));
  } catch {
    return {};
  }
}
