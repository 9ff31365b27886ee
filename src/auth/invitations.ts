import { Injectable } from '@nestjs/common';
import { Config } from '../config.js';
import { ApiError } from '../platform/api/api-error.js';
import { InjectFastRepository } from '../platform/data/data.module.js';
import { FastRepository } from '../platform/data/fast-repository.js';
import { Transactions } from '../platform/data/transactions.js';
import { Invitation } from './invitation.entity.js';
import { hashSecret, INVITATIONS, isSecret, newSecret } from './secret.js';

/** Who may sign up: anyone, nobody, or whoever has an invitation (`SIGN_UP`). */
@Injectable()
export class Invitations {
  constructor(
    @InjectFastRepository(Invitation) private readonly invitations: FastRepository<Invitation>,
    private readonly transactions: Transactions,
    private readonly config: Config,
  ) {}

  /** Makes an invitation. Its code is returned here and nowhere else. */
  async create(expiresAt: Date | null): Promise<Invitation & { code: string }> {
    const code = newSecret(INVITATIONS);
    return Object.assign(await this.invitations.addRow({ hash: hashSecret(code), expiresAt }), { code });
  }

  /** @throws ApiError `sign_up_closed` unless somebody may sign up */
  requireOpen(): void {
    if (this.config.SIGN_UP === 'closed') throw new ApiError('sign_up_closed');
  }

  /** @throws ApiError `sign_up_closed` unless whoever sends this code may sign up */
  async require(code: unknown): Promise<void> {
    if (this.config.SIGN_UP !== 'invite') return;
    const found = isSecret(INVITATIONS, code) && (await this.invitations.findRow({ hash: hashSecret(code) }));
    if (!found || isOver(found)) throw refusal();
  }

  /**
   * Uses a code up, in the open transaction: if that fails, it is as good as before.
   * @throws ApiError `sign_up_closed`
   */
  async use(code: unknown): Promise<void> {
    await this.require(code);
    if (this.config.SIGN_UP !== 'invite') return;
    const hash = hashSecret(code as string);
    const { affected } = await this.transactions.manager.delete(Invitation, { hash });
    if (affected !== 1) throw refusal();
  }
}

function isOver({ expiresAt }: Invitation): boolean {
  return expiresAt !== null && expiresAt.getTime() <= Date.now();
}

function refusal(): ApiError {
  return new ApiError('sign_up_closed', 'Signing up takes an invitation that has not been used.');
}
