import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './schema.d.ts';

export type PetStore = Client<paths>;
export type Pet = components['schemas']['Pet'];
type NewPet = components['schemas']['NewPet'];
type Failure = components['schemas']['Error'];
type Filter = Pick<NonNullable<paths['/pets']['get']['parameters']['query']>, 'status' | 'limit'>;

/** A failure as the service reports it; switch on its `code`. */
export class PetStoreError extends Error {
  readonly code: Failure['code'];
  readonly status: number;

  constructor({ code, message, status }: Failure) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** A client for the service at an address that ends in `/v1`. */
export function petStore(baseUrl: string, apiKey?: string): PetStore {
  return createClient<paths>({ baseUrl, headers: apiKey ? { Authorization: `Bearer ${apiKey}` } : {} });
}

/** All animals, page by page, following the `Link` headers. */
export async function* allPets(store: PetStore, filter: Filter = {}): AsyncGenerator<Pet> {
  let cursor: string | undefined;
  do {
    const { data, error, response } = await store.GET('/pets', { params: { query: { ...filter, cursor } } });
    if (error) throw new PetStoreError(error);
    yield* data;
    cursor = cursorOfNextPage(response);
  } while (cursor !== undefined);
}

function cursorOfNextPage({ headers }: Response): string | undefined {
  const next = /<([^>]+)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1];
  return next ? (new URL(next).searchParams.get('cursor') ?? undefined) : undefined;
}

/**
 * Adds an animal once, however many tries it takes: all have one key, so if an answer was lost, the next try only
 * repeats that answer.
 */
export async function addPet(store: PetStore, pet: NewPet, tries = 5): Promise<Pet> {
  const header = { 'Idempotency-Key': randomUUID() };
  for (let left = tries - 1; ; left--) {
    // A broken connection gives no answer at all.
    const answer = await store.POST('/pets', { body: pet, params: { header } }).catch(() => undefined);
    if (answer?.data) return answer.data;
    if (answer && (left <= 0 || !isPassing(answer.error))) throw new PetStoreError(answer.error);
    if (left <= 0) throw new Error('The service cannot be reached.');
    await sleep(Number(answer?.response.headers.get('Retry-After') ?? 0.2) * 1000);
  }
}

/** Whether the same request may succeed a little later. */
function isPassing({ code, status }: Failure): boolean {
  return status === 429 || status >= 500 || code === 'idempotency_key_in_use';
}
