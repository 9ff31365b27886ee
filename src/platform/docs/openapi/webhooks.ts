import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import type { OperationFacts, Webhook } from '../../api/index.js';
import type { Operation } from './placed.js';
import { exampleFor } from './schemas.js';

/**
 * Keeps openapi-generator from writing a client's method for it: in a file that, in TypeScript, does not compile, and that
 * replaces the one of the operations with the same tag.
 */
const NOT_FOR_CLIENTS = { 'x-internal': true };

type Webhooks = NonNullable<OpenAPIObject['webhooks']>;

/** The requests that the service makes, by their ids. */
export function webhooksOf(operations: Iterable<OperationFacts>, document: OpenAPIObject): Webhooks {
  const webhooks = [...operations].flatMap(({ webhook, tag }) => (webhook ? [{ webhook, tag }] : []));
  return Object.fromEntries(
    webhooks.map(({ webhook, tag }) => [
      webhook.id,
      { post: { tags: [tag.name], ...NOT_FOR_CLIENTS, ...operationOf(webhook, document) } },
    ]),
  );
}

function operationOf(webhook: Webhook, document: OpenAPIObject): Operation {
  const { id, summary, description, headers, answers } = webhook;
  const schema = { $ref: getSchemaPath(webhook.body) };
  const content = { 'application/json': { schema, example: exampleFor(document, schema) } };
  const responses = Object.entries(answers).map(([status, means]) => [status, { description: means }]);
  return {
    operationId: id,
    summary,
    description,
    security: [],
    parameters: Object.entries(headers).map(parameterOf),
    requestBody: { required: true, content },
    responses: Object.fromEntries(responses) as Operation['responses'],
  };
}

function parameterOf([name, description]: [string, string]) {
  return { name, in: 'header' as const, required: true, description, schema: { type: 'string' } };
}
