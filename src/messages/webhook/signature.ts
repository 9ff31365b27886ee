import { createHmac } from 'node:crypto';

const PREFIX = 'whsec_';

/**
 * The headers by which a receiver verifies that a body comes from here, and when it was sent: any of the signatures will
 * do, so a secret can be replaced without a moment in which it is not known on one of the two sides.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 * @param secrets each `whsec_` and the key as base64
 * @param timestamp seconds since 1970
 */
export function signatureHeaders(secrets: readonly string[], id: string, timestamp: number, body: string) {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}
