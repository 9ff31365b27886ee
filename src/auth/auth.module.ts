import { Module } from '@nestjs/common';
import { DataModule } from '../platform/data/data.module.js';
import { Account } from './account.entity.js';
import { AccountsController } from './accounts.controller.js';
import { AccountsService } from './accounts.service.js';
import { ApiKey } from './api-key.entity.js';
import { ApiKeysController } from './api-keys.controller.js';
import { ApiKeysService } from './api-keys.service.js';
import { BearerStrategy } from './bearer.strategy.js';
import { DemoKey } from './demo-key.js';

@Module({
  imports: [DataModule.forFeature([Account, ApiKey])],
  controllers: [AccountsController, ApiKeysController],
  providers: [AccountsService, ApiKeysService, BearerStrategy, DemoKey],
  exports: [AccountsService, ApiKeysService, BearerStrategy, DemoKey],
})
export class AuthModule {}
