import { Feature } from 'petstore/platform';
import { MessageDelivery } from './message-delivery.js';
import { Message } from './message.entity.js';
import { MessagesController } from './messages.controller.js';
import { MessagesService } from './messages.service.js';
import { DECLARATIONS } from './messages.declarations.js';

@Feature({
  name: 'messages',
  ...DECLARATIONS,
  tags: { messages: 'Submit a message and see whether it was delivered.' },
  entities: [Message],
  guides: [
    {
      title: 'Messages and webhooks',
      summary: 'Submit a message, and check its signature when you receive it.',
      file: new URL('../../docs/guides/messages.md', import.meta.url),
    },
  ],
  controllers: [MessagesController],
  providers: [MessagesService, MessageDelivery],
  exports: [MessagesService],
})
export class MessagesModule {}
