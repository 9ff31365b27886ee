import { Injectable } from '@nestjs/common';
import {
  ApiError,
  AuditLog,
  FastRepository,
  InjectFastRepository,
  type Page,
  type PageQuery,
  Transactions,
} from 'petstore/platform';
import { Config } from '../config.js';
import type { Actor } from '../platform/api/index.js';
import { Invitation } from './invitation.entity.js';
import { hashSecret, INVITATIONS, isSecret, newSecret } from './secret.js';

/** Who may sign up: anyone, nobody, or whoever has an invitation (`SIGN_UP`). */
@Injectable()
export class Invitations {
  constructor(
    @InjectFastRepository(Invitation) private readonly invitations: FastRepository<Invitation>,
    private readonly transactions: Transactions,
    private readonly audit: AuditLog,
    private readonly config: Config,
  ) {}

  /** Those that have not been used, whether they have expired or not. */
  list(page: PageQuery): Promise<Page<Invitation>> {
    return this.invitations.page({}, page);
  }

  /** Makes an invitation. Its code is returned here and nowhere else. */
  async create(by: Actor, expiresAt: Date | null): Promise<Invitation & { code: string }> {
    const code = newSecret(INVITATIONS);
    const made = await this.transactions.run(async () => {
      const invitation = await this.invitations.addRow({ hash: hashSecret(code), expiresAt });
      const details = expiresAt ? { expiresAt } : undefined;
      await this.audit.add({ by, action: 'invitation.created', subjectId: invitation.id, details });
      return invitation;
    });
    return Object.assign(made, { code });
  }

  /** @returns whether there was one that had not been used */
  async revoke(by: Actor, id: string): Promise<boolean> {
    return this.transactions.run(async () => {
      if (!(await this.remove(id))) return false;
      await this.audit.add({ by, action: 'invitation.revoked', subjectId: id });
      return true;
    });
  }

  /** @throws ApiError `sign_up_closed` unless somebody may sign up */
  requireOpen(): void {
    if (this.config.SIGN_UP === 'closed') throw new ApiError('sign_up_closed');
  }

  /**
   * @returns the id of the invitation, if signing up takes one
   * @throws ApiError `sign_up_closed` unless whoever sends this code may sign up
   */
  async require(code: unknown): Promise<string | undefined> {
    if (this.config.SIGN_UP !== 'invite') return undefined;
    const found = isSecret(INVITATIONS, code) && (await this.invitations.findRow({ hash: hashSecret(code) }));
    if (!found || isOver(found)) throw refusal();
    return found.id;
  }

  /**
   * Uses a code up, in the open transaction: if that fails, it is as good as before.
   * @returns the id of the invitation, if signing up takes one
   * @throws ApiError `sign_up_closed`
   */
  async use(code: unknown): Promise<string | undefined> {
    const id = await this.require(code);
    if (id !== undefined && !(await this.remove(id))) throw refusal();
    return id;
  }

  /** Of several at once, one removes it. */
  private async remove(id: string): Promise<boolean> {
    const { affected } = await this.transactions.manager.delete(Invitation, { id });
    return affected === 1;
  }
}

function isOver({ expiresAt }: Invitation): boolean {
  return expiresAt !== null && expiresAt.getTime() <= Date.now();
}

function refusal(): ApiError {
  return new ApiError('sign_up_closed', 'Signing up takes an invitation that has not been used.');
}
