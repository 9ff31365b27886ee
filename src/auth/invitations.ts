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

/** Decides who may sign up (`SIGN_UP`): anybody, nobody, or holders of an invitation. */
@Injectable()
export class Invitations {
  constructor(
    @InjectFastRepository(Invitation) private readonly invitations: FastRepository<Invitation>,
    private readonly transactions: Transactions,
    private readonly audit: AuditLog,
    private readonly config: Config,
  ) {}

  /** Unused invitations, including expired ones. */
  list(page: PageQuery): Promise<Page<Invitation>> {
    return this.invitations.page({}, page);
  }

  /** Creates an invitation. Only this call returns its code. */
  async create(by: Actor, expiresAt: Date | null): Promise<Invitation & { code: string }> {
    const code = newSecret(INVITATIONS);
    const created = await this.transactions.run(async () => {
      const invitation = await this.invitations.addRow({ hash: hashSecret(code), expiresAt });
      const details = expiresAt ? { expiresAt } : undefined;
      await this.audit.add({ by, action: 'invitation.created', subjectId: invitation.id, details });
      return invitation;
    });
    return Object.assign(created, { code });
  }

  /** @returns false if there is no such unused invitation */
  async revoke(by: Actor, id: string): Promise<boolean> {
    return this.transactions.run(async () => {
      if (!(await this.remove(id))) return false;
      await this.audit.add({ by, action: 'invitation.revoked', subjectId: id });
      return true;
    });
  }

  /** @throws ApiError `sign_up_closed` if nobody may sign up */
  requireOpen(): void {
    if (this.config.SIGN_UP === 'closed') throw new ApiError('sign_up_closed');
  }

  /** @returns the id of the invitation, if one is needed @throws ApiError `sign_up_closed` if the code admits nobody */
  async require(code: unknown): Promise<string | undefined> {
    if (this.config.SIGN_UP !== 'invite') return undefined;
    const found = isSecret(INVITATIONS, code) && (await this.invitations.findRow({ hash: hashSecret(code) }));
    if (!found || (found.expiresAt && found.expiresAt.getTime() <= Date.now())) throw refusal();
    return found.id;
  }

  /** Like `require`; also uses up the code, in the open transaction. */
  async use(code: unknown): Promise<string | undefined> {
    const id = await this.require(code);
    if (id !== undefined && !(await this.remove(id))) throw refusal();
    return id;
  }

  /** Of simultaneous uses, only one deletes the row. */
  private async remove(id: string): Promise<boolean> {
    const { affected } = await this.transactions.manager.delete(Invitation, { id });
    return affected === 1;
  }
}

function refusal(): ApiError {
  return new ApiError('sign_up_closed', 'Signing up needs an invitation that has not been used.');
}
