import { type Answer, call, type CallOptions, credentialsFor } from './client.js';
import {
  addressOf,
  type Content,
  contentOf,
  exampleOf,
  inWorkingOrder,
  makes,
  operations,
  type Placed,
  successOf,
} from './document.js';
import type { TestedService } from './service.js';

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/;

/**
 * The examples of the document, unchanged except for random UUIDs. On a fresh database they succeed one after another: all
 * other ids count up from 1, as in the examples.
 */
export class Examples {
  /** The operations whose examples `addExamples` has added. */
  readonly added = new Set<Placed>();
  private readonly made = new Map<string, string>();

  /** The example of an operation's body, with created UUIDs. */
  contentFor(placed: Placed): Content {
    const body: unknown = exampleOf(placed);
    return body === undefined ? contentOf(placed) : { body: JSON.parse(this.fill(JSON.stringify(body))) };
  }

  /** Sends the example of an operation with the required credentials, and stores the UUID in the answer. */
  async send(
    service: TestedService,
    placed: Placed,
    has: CallOptions,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const content = this.contentFor(placed);
    const answer = await call(service, placed.method, this.fill(addressOf(placed)), {
      ...credentialsFor(placed, has),
      ...content,
      headers: { ...content.headers, ...headers },
    });
    this.learn(placed, answer.text);
    return answer;
  }

  /** Stores the UUID that an operation has created. */
  learn(placed: Placed, answered: string): void {
    const [foreseen] = UUID.exec(JSON.stringify(successOf(placed).example) ?? '') ?? [];
    const [id] = UUID.exec(answered) ?? [];
    if (placed.method === 'POST' && foreseen && id) this.made.set(foreseen, id);
  }

  /** Replaces the UUIDs of examples in a text by the created UUIDs. */
  fill(text: string): string {
    return text.replaceAll(new RegExp(UUID, 'g'), (id) => this.made.get(id) ?? id);
  }
}

/**
 * Sends the example of every operation that creates a row and accepts an API key, with the operation's id as
 * `Idempotency-Key`. Each feature then has a first row, with the id that other examples name.
 */
export async function addExamples(service: TestedService, { key }: CallOptions): Promise<Examples> {
  const examples = new Examples();
  for (const placed of inWorkingOrder(operations)) {
    const isAdding = placed.method === 'POST' || makes(placed);
    if (!isAdding || !placed.operation.security.some((scheme) => 'bearerAuth' in scheme)) continue;
    const headers = { 'Idempotency-Key': placed.operation.operationId };
    const { status } = await examples.send(service, placed, { key }, headers);
    if (status < 300) examples.added.add(placed);
  }
  return examples;
}
