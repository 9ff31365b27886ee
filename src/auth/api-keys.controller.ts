import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { KeyAccess, Operation, PasswordAccess, Tag } from '../platform/api/operation.js';
import { type Page, PageQuery } from '../platform/api/paging.js';
import { Reply, type ReplyHeaders } from '../platform/api/reply.js';
import { ACCOUNTS_TAG } from './account.dto.js';
import { AccountId, KeyId } from '../platform/api/caller.js';
import { ApiKeyDto, ApiKeyParams, CreatedApiKeyDto, NewApiKeyDto } from './api-key.dto.js';
import { ApiKeysService } from './api-keys.service.js';

@Tag(...ACCOUNTS_TAG)
@PasswordAccess()
@Controller('api-keys')
export class ApiKeysController {
  constructor(private readonly apiKeys: ApiKeysService) {}

  @Get()
  @Operation({ id: 'listApiKeys', summary: 'List your API keys', returns: [ApiKeyDto] })
  async list(
    @AccountId() accountId: string,
    @Query() query: PageQuery,
    @Reply() reply: ReplyHeaders,
  ): Promise<Page<ApiKeyDto>> {
    return reply.page(await this.apiKeys.list(accountId, query));
  }

  @Post()
  @Operation({
    id: 'createApiKey',
    summary: 'Create an API key',
    description: 'The key itself is only ever shown in this answer.',
    returns: CreatedApiKeyDto,
    status: 201,
  })
  create(@AccountId() accountId: string, @Body() body: NewApiKeyDto): Promise<CreatedApiKeyDto> {
    return this.apiKeys.create(accountId, body);
  }

  // Before the route of any id.
  @Delete('current')
  @KeyAccess()
  @Operation({
    id: 'revokeCurrentApiKey',
    summary: 'Revoke the API key of this request',
    description:
      'For a key in the wrong hands: it needs no password, and is refused everywhere within a second.',
    status: 204,
  })
  revokeCurrent(@AccountId() accountId: string, @KeyId() keyId: string): Promise<void> {
    return this.apiKeys.revokeCurrent(accountId, keyId);
  }

  @Delete(':keyId')
  @Operation({
    id: 'revokeApiKey',
    summary: 'Revoke an API key',
    description: 'The key is refused everywhere within a second of the answer.',
    status: 204,
    errors: { api_key_not_found: 404 },
  })
  revoke(@AccountId() accountId: string, @Param() { keyId }: ApiKeyParams): Promise<void> {
    return this.apiKeys.revoke(accountId, keyId);
  }
}
