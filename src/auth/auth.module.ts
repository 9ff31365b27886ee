import { Module } from '@nestjs/common';
import { DataModule } from '../platform/data/index.js';
import { Config } from '../config.js';
import { AccessTokens } from './access-tokens.js';
import { AccountChanges } from './account-changes.js';
import { AccountIdentity } from './account-identity.entity.js';
import { Account } from './account.entity.js';
import { AccountsController } from './accounts.controller.js';
import { AccountsService } from './accounts.service.js';
import { ApiKey } from './api-key.entity.js';
import { ApiKeysController } from './api-keys.controller.js';
import { ApiKeysService } from './api-keys.service.js';
import { BearerStrategy } from './auth.guard.js';
import { CurrentAccountController } from './current-account.controller.js';
import { DemoKey } from './demo-key.js';
import { Identities } from './identities.js';
import { Invitation } from './invitation.entity.js';
import { Invitations } from './invitations.js';
import { KeyOwners } from './key-owners.js';

/** Undefined without an identity provider. */
const accessTokens = {
  provide: AccessTokens,
  inject: [Config],
  useFactory: (config: Config) => (config.OIDC_ISSUER ? new AccessTokens(config) : undefined),
};

const SERVICES = [
  AccountsService,
  AccountChanges,
  ApiKeysService,
  BearerStrategy,
  DemoKey,
  Identities,
  Invitations,
  KeyOwners,
];

@Module({
  imports: [DataModule.forFeature([Account, AccountIdentity, ApiKey, Invitation])],
  controllers: [AccountsController, ApiKeysController, CurrentAccountController],
  providers: [accessTokens, ...SERVICES],
  exports: SERVICES,
})
export class AuthModule {}
