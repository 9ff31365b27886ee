import cluster from 'node:cluster';
import { Injectable } from '@nestjs/common';
import { answerWorkers, askPrimary } from '../platform/process/index.js';
import { hashSecret, isSecret, newSecret, STARTS } from './secret.js';

/** What workers ask the primary. */
const QUESTION = 'key of the start link';

/**
 * The link to Swagger UI that a start prints. Browsers keep addresses in their history, so the link does not have the demo
 * key in it but a code that is good for the key once. The code is known to the process that has started the service.
 */
@Injectable()
export class StartLink {
  private offered?: { hash: Buffer; key: string };

  /** @returns a code for a key, to be printed once; an earlier one is good for nothing any more */
  offer(key: string): string {
    const code = newSecret(STARTS);
    this.offered = { hash: hashSecret(code), key };
    return code;
  }

  /** In the primary: has workers redeem the code here. */
  serveWorkers(): void {
    answerWorkers({ [QUESTION]: (code) => this.take(code) });
  }

  /** @returns the key for a code that has not been used */
  async redeem(code: string | undefined): Promise<string | undefined> {
    if (!isSecret(STARTS, code)) return undefined;
    return cluster.isWorker ? askPrimary(QUESTION, code) : this.take(code);
  }

  private take(code = ''): string | undefined {
    if (!this.offered?.hash.equals(hashSecret(code))) return undefined;
    const { key } = this.offered;
    this.offered = undefined;
    return key;
  }
}
