import { randomUUIDv7 } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { ApiError } from '../platform/api/api-error.js';
import type { NewMessageDto } from './message.dto.js';
import { Message, MessageStatus } from './message.entity.js';
import { Outbox } from './outbox.js';

/** The messages of one account each: another account's message is treated as missing. */
@Injectable()
export class MessagesService {
  constructor(
    @InjectRepository(Message) private readonly messages: Repository<Message>,
    private readonly outbox: Outbox,
  ) {}

  /** Stores a message for delivery; it is durable when the promise resolves. */
  async submit(accountId: string, { message: text }: NewMessageDto): Promise<Message> {
    const id = randomUUIDv7();
    const createdAt = await this.outbox.store({ id, accountId, message: text });
    return this.messages.create({ id, accountId, message: text, status: MessageStatus.Queued, createdAt });
  }

  /** @throws ApiError `message_not_found` */
  async get(accountId: string, id: string): Promise<Message> {
    const message = await this.messages.findOneBy({ id, accountId });
    if (!message) throw new ApiError('message_not_found');
    return message;
  }
}
