import { randomUUIDv7 } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AccountClosing } from '../platform/access/closing/account-closing.js';
import { InjectFastRepository } from '../platform/data/data.module.js';
import { FastRepository } from '../platform/data/fast-repository.js';
import { settled, Transactions } from '../platform/data/transactions.js';
import { Jobs } from '../platform/jobs/jobs.js';
import type { NewMessageDto } from './message.dto.js';
import { Message, MessageStatus } from './message.entity.js';
import { QUEUE } from './queue.js';

type NewMessage = Pick<Message, 'id' | 'accountId' | 'message' | 'status'>;

/** The messages of one account each: another account's message is treated as missing. */
@Injectable()
export class MessagesService {
  private readonly store: (message: NewMessage) => Promise<Message>;

  constructor(
    @InjectFastRepository(Message) private readonly messages: FastRepository<Message>,
    private readonly jobs: Jobs,
    transactions: Transactions,
    closing: AccountClosing,
  ) {
    // The job of one that has not been delivered finds no message then, and does nothing.
    closing.erases(Message);
    this.store = transactions.batched((all) => this.storeAll(all));
  }

  /** Stores a message for delivery; it is durable when the promise resolves. */
  submit(accountId: string, { message }: NewMessageDto): Promise<Message> {
    return this.store({ id: randomUUIDv7(), accountId, message, status: MessageStatus.Queued });
  }

  /** @throws ApiError `message_not_found` */
  get(accountId: string, id: string): Promise<Message> {
    return this.messages.getRow({ id, accountId }, 'message_not_found');
  }

  private async storeAll(messages: NewMessage[]): Promise<Message[]> {
    const jobs = messages.map(({ id }) => ({ id }));
    const [stored] = await settled([this.messages.addRows(messages), this.jobs.addAll(QUEUE, jobs)]);
    return stored;
  }
}
