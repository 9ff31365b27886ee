import type { components } from './schema.d.ts';

type Failure = components['schemas']['Error'];

/** Maximum characters of a foreign body that the message shows. */
const LONGEST_EXCERPT = 100;

/** An answer other than a success. Switch on the `code`; the `message` is for people, and may change. */
export class PetstoreError extends Error {
  override readonly name = 'PetstoreError';
  /** A code of the document; later releases may add codes. `unknown` if a proxy or another server has answered. */
  readonly code: Failure['code'];
  /** The HTTP status; 0 for a redirect in a browser, which hides the status. */
  readonly status: number;
  /** The headers of the answer, such as `Retry-After`, and `X-Request-Id` for the operator. */
  readonly headers: Headers;
  /** The page that explains the code; undefined if a proxy or another server has answered. */
  readonly help: string | undefined;

  /**
   * @param body the body of the response, as text
   * @param options the cause, if the body of a success cannot be read
   */
  constructor(response: Response, body: string, options?: ErrorOptions) {
    const { code, message } = failureIn(body) ?? { code: 'unknown', message: describe(response, body) };
    super(message, options);
    this.code = code;
    this.status = response.status;
    this.headers = response.headers;
    const [, help] = /<([^>]*)>; rel="help"/.exec(response.headers.get('Link') ?? '') ?? [];
    this.help =
      help !== undefined && URL.canParse(help, response.url) ? new URL(help, response.url).href : help;
  }
}

/** The service's error in a body; undefined for any other body, such as a proxy's page. */
function failureIn(body: string): Pick<Failure, 'code' | 'message'> | undefined {
  try {
    const { code, message } = Object(JSON.parse(body));
    return typeof code === 'string' && typeof message === 'string' ? { code, message } : undefined;
  } catch {
    return undefined;
  }
}

function describe({ status, statusText, headers, redirected, type, url }: Response, body: string): string {
  const line = `${status} ${statusText}`.trim();
  const isRedirect = redirected || type === 'opaqueredirect' || (status >= 300 && status < 400);
  const to = redirected ? url : (headers.get('Location') ?? 'somewhere');
  if (isRedirect) return `${line}: a redirect to ${to}, which the client does not follow. Is baseUrl right?`;
  const text = body.replaceAll(/\s+/g, ' ').trim();
  const excerpt = text.length > LONGEST_EXCERPT ? `${text.slice(0, LONGEST_EXCERPT)}…` : text;
  return `${line} with ${headers.get('Content-Type') ?? 'no Content-Type'}, which is not from the service: ${excerpt}`;
}
