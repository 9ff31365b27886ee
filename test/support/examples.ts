import { call, type CallOptions } from './client.js';
import { addressOf, exampleOf, inWorkingOrder, isPutting, MadeIds, operations } from './contract.js';
import type { Service } from './service.js';

/**
 * Sends the example of every operation that adds something with a key, so that each feature has a row: the first, with
 * the id that the examples of others name. Returns the ids that no example can foresee.
 */
export async function addExamples(service: Service, { key }: CallOptions): Promise<MadeIds> {
  const made = new MadeIds();
  for (const one of inWorkingOrder(operations)) {
    if (
      (one.method !== 'POST' && !isPutting(one)) ||
      !one.operation.security.some((scheme) => 'bearerAuth' in scheme)
    )
      continue;
    const answer = await call(service, one.method, made.fill(addressOf(one)), { key, body: exampleOf(one) });
    made.learn(one, JSON.stringify(answer.body));
  }
  return made;
}
