import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';

/**
 * The headers by which a receiver verifies that a body comes from here, and when it was sent.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * @param secret `whsec_` and the key as base64
 * @param timestamp seconds since 1970
 */
export function signatureHeaders(secret: string, id: string, timestamp: number, body: string) {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  };
}
