import { applyDecorators } from '@nestjs/common';
import { ApiExtraModels } from '@nestjs/swagger';
import { Declare, type Webhook } from './operation-facts.js';

/** Documents a request that the service makes because of this operation, under `webhooks` of the OpenAPI document. */
export function Sends(webhook: Webhook): MethodDecorator {
  return applyDecorators(ApiExtraModels(webhook.body), Declare({ webhook }));
}
