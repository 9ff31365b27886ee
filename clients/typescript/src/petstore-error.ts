import type { components } from './schema.d.ts';

type Failure = components['schemas']['Error'];

/** As much of the body is shown of what is no answer of the service. */
const LONGEST_EXCERPT = 100;

/** An answer that is no success. Switch on its `code`; the `message` is for people, and may change. */
export class PetstoreError extends Error {
  override readonly name = 'PetstoreError';
  /** One of the document's codes, to which new ones may come; `unknown` if something in between has answered. */
  readonly code: Failure['code'];
  /** The status of the response; 0 for a redirect in a browser, which does not tell. */
  readonly status: number;
  /** Its headers: `X-Request-Id` for whoever operates the service, `Retry-After`. */
  readonly headers: Headers;
  /** The page that says what its code means, and what to do; undefined if something in between has answered. */
  readonly help: string | undefined;

  /**
   * @param body that of the response
   * @param options why the body of a success cannot be read, if it is cut off
   */
  constructor(response: Response, body: string, options?: ErrorOptions) {
    const { code, message } = failureIn(body) ?? { code: 'unknown', message: whatCame(response, body) };
    super(message, options);
    this.code = code;
    this.status = response.status;
    this.headers = response.headers;
    const [, help] = /<([^>]*)>; rel="help"/.exec(response.headers.get('Link') ?? '') ?? [];
    this.help =
      help !== undefined && URL.canParse(help, response.url) ? new URL(help, response.url).href : help;
  }
}

/** The error of the service, if it is one: what something in between answers may be anything. */
function failureIn(body: string): Pick<Failure, 'code' | 'message'> | undefined {
  try {
    const { code, message } = Object(JSON.parse(body));
    return typeof code === 'string' && typeof message === 'string' ? { code, message } : undefined;
  } catch {
    return undefined;
  }
}

function whatCame({ status, statusText, headers, redirected, type, url }: Response, body: string): string {
  const line = `${status} ${statusText}`.trim();
  const isRedirect = redirected || type === 'opaqueredirect' || (status >= 300 && status < 400);
  const to = redirected ? url : (headers.get('Location') ?? 'somewhere');
  if (isRedirect) return `${line}: a redirect to ${to}, which is not followed. Is baseUrl right?`;
  const text = body.replaceAll(/\s+/g, ' ').trim();
  const excerpt = text.length > LONGEST_EXCERPT ? `${text.slice(0, LONGEST_EXCERPT)}…` : text;
  return `${line} with ${headers.get('Content-Type') ?? 'no Content-Type'}, not an answer of the service: ${excerpt}`;
}
