import { Injectable } from '@nestjs/common';
import { Config } from '../../config.js';
import { Sweeps } from '../../platform/data/sweeps.js';
import { Message, MessageStatus } from '../message.entity.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const DONE = [MessageStatus.Delivered, MessageStatus.Failed];

/** Removes messages that are done, so many days after they were submitted. */
@Injectable()
export class MessageRetention {
  constructor(
    private readonly config: Config,
    private readonly sweeps: Sweeps,
  ) {}

  /** Begins to remove them, if they are not kept for ever. */
  start(): void {
    const { MESSAGES_RETENTION_DAYS: days } = this.config;
    if (days === undefined) return;
    const first = () => firstIdOf(Date.now() - days * DAY_MS);
    this.sweeps.start(Message, () => ({ before: { id: first() }, where: { status: DONE } }));
  }
}

/** The lowest UUID v7 of a millisecond (RFC 9562, 5.7): in the order of the primary key, older ids come before it. */
function firstIdOf(time: number): string {
  const hex = time.toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
