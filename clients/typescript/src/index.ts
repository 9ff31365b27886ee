import createFetchClient, { type FetchResponse, type MaybeOptionalInit } from 'openapi-fetch';
import { parse, stringify } from './int64.ts';
import type { components, paths } from './schema.d.ts';
import { send } from './send.ts';

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
  /** Instead of the `fetch` that is there. */
  fetch?: (request: Request) => Promise<Response>;
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
 * Calls by method and path, with the types of the document. An answer that is no success is thrown as a `PetstoreError`;
 * where there is none, what `fetch` says is thrown.
 */
export type PetstoreClient = { readonly [M in Method as Uppercase<M>]: Call<M> } & {
  /** The pages of a list, each fetched when it is asked for. */
  pages<P extends ListPath>(path: P, ...rest: Rest<P, 'get'>): AsyncGenerator<Answer<P, 'get'>['data'], void>;
};

/**
 * A client that sends again what may pass, such as 503, 429 and a lost answer. A write has one `Idempotency-Key` in all
 * tries, so that it happens once. The `signal` of a call ends them. Every `Int64` is exact.
 */
export function createClient({ baseUrl, key, tries = 5, fetch = globalThis.fetch }: Options): PetstoreClient {
  const { request } = createFetchClient<paths>({
    baseUrl,
    headers: key === undefined ? {} : { Authorization: `Bearer ${key}` },
    bodySerializer: stringify,
    // `ids=1,2`, as the document has it.
    querySerializer: { array: { style: 'form', explode: false } },
    fetch: (outgoing) => send(outgoing, fetch, tries),
  }) as unknown as { request: (...args: unknown[]) => Promise<{ data?: string; response: Response }> };
  const call = async (method: Method, path: string, init?: object) => {
    const { data, response } = await request(method, path, { ...init, parseAs: 'text' });
    return { data: data && parse(data), response };
  };
  const methods = METHODS.map((method) => [method.toUpperCase(), call.bind(undefined, method)]);
  return { ...Object.fromEntries(methods), pages: pagesBy(call.bind(undefined, 'get')) };
}

function pagesBy(get: (path: string, init?: object) => Promise<{ data: unknown; response: Response }>) {
  return async function* pages(path: string, init?: object): AsyncGenerator<unknown, void> {
    for (let next: object | undefined = {}; next;) {
      const { data, response } = await get(path, { ...init, ...next });
      yield data;
      next = nextPage(response);
    }
  };
}

/** The query of the next page as the service has it, for the client's own address: no other one gets the key. */
function nextPage({ headers }: Response): { querySerializer: () => string } | undefined {
  const query = /<[^>?]*(\?[^>]+)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1];
  return query === undefined ? undefined : { querySerializer: () => query };
}
