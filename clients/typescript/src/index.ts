import createFetchClient, { type FetchResponse, type MaybeOptionalInit } from 'openapi-fetch';
import { stringify } from './int64.ts';
import { OPERATIONS } from './operations.ts';
import type { components, paths } from './schema.d.ts';
import { send, type Sending, type Success } from './send.ts';

export { PetstoreError } from './petstore-error.ts';
export type { Int64 } from './int64.ts';
export type { components, paths } from './schema.d.ts';
/** The objects of the interface by their names, such as `Schemas['Pet']`. */
export type Schemas = components['schemas'];

/** What a client is made with. */
export interface Options {
  /** Address of the service, ending in `/v1`. */
  baseUrl: string;
  /** An API key. Signing up needs none. */
  key?: string | undefined;
  /** How often a request is sent at most, 5 times if not given. */
  tries?: number;
  /**
   * How many milliseconds a try may take until its answer has arrived as a whole, 15,000 if not given; Infinity for no end.
   * The service has 3 seconds itself.
   */
  timeoutMs?: number;
  /** Instead of the `fetch` that is there. */
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
/** Parameters and body, which may be left out where none is required. */
type Rest<P extends keyof paths, M extends Method, I = MaybeOptionalInit<paths[P], M>> = undefined extends I
  ? [init?: I]
  : [init: I];
type Call<M extends Method> = <P extends PathOf<M>>(path: P, ...rest: Rest<P, M>) => Promise<Answer<P, M>>;

/** What a call resolves to: `data`, and the `response` for its headers, such as `ETag` and `Location`. */
export type Answer<P extends keyof paths, M extends Method> = Extract<
  FetchResponse<paths[P][M] & object, object, 'application/json'>,
  { data: unknown }
>;

/**
 * Calls by method and path, with the types of the document. An answer that is no success, or not the service's, is thrown as
 * a `PetstoreError`; where there is none, what `fetch` says is thrown, and a `TimeoutError` where there is none in time.
 */
export type PetstoreClient = { readonly [M in Method as Uppercase<M>]: Call<M> } & {
  /** The pages of a list, each fetched when it is asked for. */
  pages<P extends ListPath>(path: P, ...rest: Rest<P, 'get'>): AsyncGenerator<Answer<P, 'get'>['data'], void>;
};

/**
 * A client that sends again what may pass, such as 503, 429 and a lost answer. A write has one `Idempotency-Key` in all
 * tries, so that it happens once; where the service keeps none, it is not sent again. The `signal` of a call ends them.
 * Every `Int64` is exact.
 */
export function createClient(options: Options): PetstoreClient {
  const { baseUrl, key, tries = 5, timeoutMs = 15_000, fetch: ownFetch = globalThis.fetch } = options;
  const { request } = createFetchClient<paths>({
    baseUrl,
    headers: key === undefined ? {} : { Authorization: `Bearer ${key}` },
    bodySerializer: stringify,
    // `ids=1,2`, as the document has it.
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
      if (query !== undefined && query === earlier) throw new Error(`The page ${query} comes again.`);
      // One page is compared with those after it, further and further on (Brent), so that a circle of any length is found.
      if (Number.isInteger(Math.log2(page))) earlier = query;
    }
  };
}

/** The query of the next page as the service has it, for the client's own address: no other one gets the key. */
function nextQuery({ headers }: Response): string | undefined {
  return /<[^>?]*(\?[^>]+)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1];
}
