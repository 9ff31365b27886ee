import { Feature } from 'petstore/platform';
import { Config } from '../config.js';
import { MessageDelivery } from './message-delivery.js';
import { Message } from './message.entity.js';
import { MessagesController } from './messages.controller.js';
import { MessagesService } from './messages.service.js';
import { Transport } from './transport.js';
import { WebhookTransport } from './webhook-transport.js';
import { ERRORS } from './messages.errors.js';
import { PERMISSIONS } from './messages.permissions.js';

@Feature({
  name: 'messages',
  entities: [Message],
  permissions: PERMISSIONS,
  errors: ERRORS,
  guides: [
    {
      title: 'Messages and webhooks',
      summary: 'Submit a message, and receive it with its signature checked.',
      file: new URL('../../docs/guides/messages.md', import.meta.url),
    },
  ],
  controllers: [MessagesController],
  providers: [
    MessagesService,
    MessageDelivery,
    { provide: Transport, inject: [Config], useFactory: webhook },
  ],
})
export class MessagesModule {}

/** The transport for messages, or null without one: they then wait. */
function webhook(config: Config): Transport | null {
  const { MESSAGES_WEBHOOK_URL: url, MESSAGES_WEBHOOK_SECRET: secrets, MESSAGES_CONCURRENCY } = config;
  return url && secrets ? new WebhookTransport(url, secrets.split(','), MESSAGES_CONCURRENCY) : null;
}
