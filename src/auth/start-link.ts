import cluster from 'node:cluster';
import { Injectable } from '@nestjs/common';
import { answerWorkers, askPrimary } from '../platform/process/index.js';
import { hashSecret, isSecret, newSecret, STARTS } from './secret.js';

const QUESTION = 'key of the start link';

/**
 * The link to Swagger UI that a start prints. Browsers keep addresses in their history, so the link contains a code that is
 * good once, and not the demo key. The process that started the service knows the code.
 */
@Injectable()
export class StartLink {
  private offered?: { hash: Buffer; key: string };

  /** @returns a code for the key, which replaces any earlier code */
  offer(key: string): string {
    const code = newSecret(STARTS);
    this.offered = { hash: hashSecret(code), key };
    return code;
  }

  /** In the primary: redeems codes for workers. */
  serveWorkers(): void {
    answerWorkers({ [QUESTION]: (code) => this.useCode(code) });
  }

  /** @returns the key for an unused code */
  async redeem(code: string | undefined): Promise<string | undefined> {
    if (!isSecret(STARTS, code)) return undefined;
    return cluster.isWorker ? askPrimary(QUESTION, code) : this.useCode(code);
  }

  private useCode(code = ''): string | undefined {
    if (!this.offered?.hash.equals(hashSecret(code))) return undefined;
    const { key } = this.offered;
    this.offered = undefined;
    return key;
  }
}
