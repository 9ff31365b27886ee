import { Global, Module } from '@nestjs/common';
import { DataModule } from '../../data/index.js';
import { IdempotencyKey } from './idempotency-key.entity.js';
import { IdempotencyService } from './idempotency.service.js';

/** Serves `@Idempotent()` wherever it stands. */
@Global()
@Module({
  imports: [DataModule.forFeature([IdempotencyKey])],
  providers: [IdempotencyService],
  exports: [IdempotencyService],
})
export class IdempotencyModule {}
