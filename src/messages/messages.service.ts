import { randomUUIDv7 } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  AccountClosing,
  FastRepository,
  InjectFastRepository,
  Insert,
  insert,
  Jobs,
} from 'petstore/platform';
import type { NewMessageDto } from './message.dto.js';
import { Message, MessageStatus, QUEUE } from './message.entity.js';

/** The messages of each account: a message of another account counts as missing. */
@Injectable()
export class MessagesService {
  constructor(
    @InjectFastRepository(Message) private readonly messages: FastRepository<Message>,
    private readonly jobs: Jobs,
    closing: AccountClosing,
  ) {
    // The job of a deleted message finds no message, and does nothing.
    closing.erases(Message);
  }

  /** A queued message, stored with its job by one statement. */
  submit(accountId: string, { message }: NewMessageDto): Insert<Message> {
    const row = { id: randomUUIDv7(), accountId, message, status: MessageStatus.Queued };
    return insert(this.messages, row).with(this.jobs.of(QUEUE));
  }

  /** @throws ApiError `message_not_found` */
  get(accountId: string, id: string): Promise<Message> {
    return this.messages.getRow({ id, accountId }, 'message_not_found');
  }
}
