import { Module } from '@nestjs/common';
import { DataModule } from 'petstore/platform';
import { Config } from '../config.js';
import { MessageDelivery } from './message-delivery.js';
import { Message } from './message.entity.js';
import { MessagesController } from './messages.controller.js';
import { MessagesService } from './messages.service.js';
import { Transport } from './transport.js';
import { WebhookTransport } from './webhook-transport.js';
import './messages.errors.js';
import './messages.permissions.js';

@Module({
  imports: [DataModule.forFeature([Message])],
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
