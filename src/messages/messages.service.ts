import { randomUUIDv7 } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AccountClosing, FastRepository, InjectFastRepository, Jobs } from 'petstore/platform';
import type { NewMessageDto } from './message.dto.js';
import { Message, MessageStatus, QUEUE } from './message.entity.js';

/** The messages of one account each: another account's message is treated as missing. */
@Injectable()
export class MessagesService {
  constructor(
    @InjectFastRepository(Message) private readonly messages: FastRepository<Message>,
    private readonly jobs: Jobs,
    closing: AccountClosing,
  ) {
    // The job of one that has not been delivered finds no message then, and does nothing.
    closing.erases(Message);
  }

  /** Stores a message for delivery, with its job; it is durable when the promise resolves. */
  submit(accountId: string, { message }: NewMessageDto): Promise<Message> {
    const id = randomUUIDv7();
    const row = { id, accountId, message, status: MessageStatus.Queued };
    return this.messages.addRow(row, () => this.jobs.addAll(QUEUE, [{ id }]));
  }

  /** @throws ApiError `message_not_found` */
  get(accountId: string, id: string): Promise<Message> {
    return this.messages.getRow({ id, accountId }, 'message_not_found');
  }
}
