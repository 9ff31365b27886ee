import { Global, Module } from '@nestjs/common';
import { AccountClosing } from './account-closing.js';

/** Gives every module the closing of accounts. */
@Global()
@Module({ providers: [AccountClosing], exports: [AccountClosing] })
export class ClosingModule {}
