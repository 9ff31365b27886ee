import type { Webhook } from 'petstore/platform';
import { DeliveredMessageDto } from './message.dto.js';

/** The webhook of message deliveries. */
export const DELIVERY: Webhook = {
  id: 'deliverMessage',
  summary: 'A message is delivered',
  description:
    'Posted to the address that the operator has configured: at least once, in no particular order, for up to a day. Signed as ' +
    '[Standard Webhooks](https://www.standardwebhooks.com) specifies; its libraries verify the signature. Remember the ids that you have ' +
    'accepted: after a failure, a message may come again. Answer within 15 seconds.',
  body: DeliveredMessageDto,
  headers: {
    'webhook-id': 'Id of the message, the same at every try.',
    'webhook-timestamp': 'When this try was made, in seconds since 1970.',
    'webhook-signature':
      'Signatures, separated by spaces. Each is `v1,` and the HMAC-SHA256 of `id.timestamp.body` as base64.',
  },
  answers: {
    '2XX': 'The message is delivered.',
    '400': 'The message has failed: another try would be refused too.',
    '410': 'The message has failed.',
    '413': 'The message has failed.',
    '422': 'The message has failed.',
    default: 'The service tries again later, or at the time in `Retry-After`. It follows no redirect.',
  },
};
