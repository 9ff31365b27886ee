import createFetchClient, { type FetchResponse, type MaybeOptionalInit } from 'openapi-fetch';
import { stringify } from './int64.ts';
import { OPERATIONS } from './operations.ts';
import type { components, paths } from './schema.d.ts';
import { send, type Sending, type Success } from './send.ts';

export { PetstoreError } from './petstore-error.ts';
export type { Int64 } from './int64.ts';
export type { components, paths } from './schema.d.ts';
/** The schemas of the API by name, such as `Schemas['Pet']`. */
export type Schemas = components['schemas'];

/** The options of a client. */
export interface Options {
  /** The address of the service, ending in `/v1`. */
  baseUrl: string;
  /** An API key; signing up needs none. */
  key?: string | undefined;
  /** The most times that a request is sent; 5 by default. */
  tries?: number;
  /**
   * Milliseconds of a try, until its whole answer has arrived: 15,000 by default, Infinity for no limit. The service answers
   * within 3 seconds.
   */
  timeoutMs?: number;
  /** Replaces the global `fetch`. */
  fetch?: Sending['fetch'];
}

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
type Method = (typeof METHODS)[number];
type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, object> ? P : never;
}[keyof paths];
type ListPath = {
  [P in PathOf<'get'>]: Answer<P, 'get'>['data'] extends readonly unknown[] ? P : never;
}[PathOf<'get'>];
/** Parameters and body; optional if none is required. */
type Rest<P extends keyof paths, M extends Method, I = MaybeOptionalInit<paths[P], M>> = undefined extends I
  ? [init?: I]
  : [init: I];
type Call<M extends Method> = <P extends PathOf<M>>(path: P, ...rest: Rest<P, M>) => Promise<Answer<P, M>>;

/** A success: `data`, and the `response` for its headers, such as `ETag` and `Location`. */
export type Answer<P extends keyof paths, M extends Method> = Extract<
  FetchResponse<paths[P][M] & object, object, 'application/json'>,
  { data: unknown }
>;

/**
 * Calls by method and path, with the types of the document. A call throws a `PetstoreError` for any answer but a success of the
 * service, a `TimeoutError` if no answer arrives in time, and the error of `fetch` if there is no answer at all.
 */
export type PetstoreClient = { readonly [M in Method as Uppercase<M>]: Call<M> } & {
  /** The pages of a list; the next one is fetched when the loop asks for it. */
  pages<P extends ListPath>(path: P, ...rest: Rest<P, 'get'>): AsyncGenerator<Answer<P, 'get'>['data'], void>;
};

/**
 * Makes a client that retries temporary failures, such as 503, 429 and a lost answer. All tries of a write have one
 * `Idempotency-Key`, so the write happens once; a write to an operation without keys is not repeated. The `signal` of a call
 * ends all its tries. Every `Int64` is exact.
 */
export function createClient(options: Options): PetstoreClient {
  const { baseUrl, key, tries = 5, timeoutMs = 15_000, fetch: ownFetch = globalThis.fetch } = options;
  const { request } = createFetchClient<paths>({
    baseUrl,
    headers: key === undefined ? {} : { Authorization: `Bearer ${key}` },
    bodySerializer: stringify,
    // `ids=1,2`, as in the document.
    querySerializer: { array: { style: 'form', explode: false } },
  }) as unknown as { request: (...args: unknown[]) => Promise<unknown> };
  const call = async (method: Method, path: string, init?: Partial<Sending>): Promise<Success> => {
    const sending = { tries, timeoutMs, fetch: init?.fetch ?? ownFetch };
    const facts = OPERATIONS[`${method.toUpperCase()} ${path}`] ?? {};
    let success!: Success;
    const fetch = async (outgoing: Request) => (success = await send(outgoing, facts, sending)).response;
    await request(method, path, { ...init, parseAs: 'text', fetch });
    return success;
  };
  const methods = METHODS.map((method) => [method.toUpperCase(), call.bind(undefined, method)]);
  return { ...Object.fromEntries(methods), pages: pagesBy(call.bind(undefined, 'get')) };
}

function pagesBy(get: (path: string, init?: object) => Promise<Success>) {
  return async function* pages(path: string, init?: object): AsyncGenerator<unknown, void> {
    let earlier: string | undefined;
    let query: string | undefined;
    for (let page = 1; page === 1 || query !== undefined; page++) {
      const { data, response } = await get(path, { ...init, ...(query && { querySerializer: () => query }) });
      yield data;
      query = nextQuery(response);
      if (query !== undefined && query === earlier)
        throw new Error(`The pages repeat: ${query} was fetched before.`);
      // Brent's algorithm finds a cycle of any length: later pages are compared with page 1, 2, 4, 8 and so on.
      if (Number.isInteger(Math.log2(page))) earlier = query;
    }
  };
}

/** The query of the next page. The client keeps its own address, so that no other server gets the key. */
function nextQuery({ headers }: Response): string | undefined {
  return /<[^>?]*(\?[^>]+)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1];
}
