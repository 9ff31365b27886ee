import { Body, Controller, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  AccountId,
  By,
  type Caller,
  Operation,
  type Page,
  PageQuery,
  Reply,
  type ReplyHeaders,
} from 'petstore/platform';
import { KeyAccess, PasswordAccess } from '../platform/api/index.js';
import {
  ApiKeyChangeDto,
  ApiKeyDto,
  ApiKeyParams,
  ApiKeyRollDto,
  CreatedApiKeyDto,
  NewApiKeyDto,
} from './api-key.dto.js';
import { ApiKeysService } from './api-keys.service.js';
import { type Ceiling, TokenCeiling } from './granted.js';

@ApiTags('accounts')
@PasswordAccess()
@Controller('api-keys')
export class ApiKeysController {
  constructor(private readonly apiKeys: ApiKeysService) {}

  @Get()
  @Operation({
    id: 'listApiKeys',
    summary: 'List your API keys',
    description: 'Shows the permissions and the last use of each key, but never the key itself.',
    returns: [ApiKeyDto],
  })
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
    description:
      'Only this answer ever shows the key itself. The key can do what its permissions allow. An account has at most 1,000 keys.',
    returns: CreatedApiKeyDto,
    status: 201,
    errors: { permission_denied: 403, too_many_api_keys: 409 },
  })
  create(
    @By() by: Caller,
    @Body() body: NewApiKeyDto,
    @TokenCeiling() ceiling: Ceiling,
  ): Promise<CreatedApiKeyDto> {
    return this.apiKeys.create(by, body, ceiling);
  }

  @Delete('current')
  @KeyAccess()
  @Operation({
    id: 'revokeCurrentApiKey',
    summary: 'Revoke the API key of this request',
    description:
      'Revokes a leaked key without a password or a permission. The key is refused everywhere within a second.',
    needs: 'nothing',
    status: 204,
  })
  revokeCurrent(@By() by: Caller): Promise<void> {
    return this.apiKeys.revokeCurrent(by);
  }

  @Patch(':keyId')
  @Operation({
    id: 'updateApiKey',
    summary: 'Change an API key',
    description: 'Every instance applies the change within a second of the answer.',
    returns: ApiKeyDto,
    errors: { permission_denied: 403, api_key_not_found: 404 },
  })
  update(
    @By() by: Caller,
    @Param() { keyId }: ApiKeyParams,
    @Body() body: ApiKeyChangeDto,
    @TokenCeiling() ceiling: Ceiling,
  ): Promise<ApiKeyDto> {
    return this.apiKeys.change(by, keyId, body, ceiling);
  }

  @Post(':keyId/roll')
  @Operation({
    id: 'rollApiKey',
    summary: 'Replace an API key',
    description:
      'Makes a new key with the name, the permissions and the expiry of the old key, which stays valid for the overlap. Only this answer ever shows the new key.',
    returns: CreatedApiKeyDto,
    status: 201,
    bodyOptional: true,
    errors: {
      permission_denied: 403,
      api_key_not_found: 404,
      api_key_expired: 409,
      too_many_api_keys: 409,
    },
  })
  roll(
    @By() by: Caller,
    @Param() { keyId }: ApiKeyParams,
    @Body() body: ApiKeyRollDto,
    @TokenCeiling() ceiling: Ceiling,
  ): Promise<CreatedApiKeyDto> {
    return this.apiKeys.roll(by, keyId, body, ceiling);
  }

  @Delete(':keyId')
  @Operation({
    id: 'revokeApiKey',
    summary: 'Revoke an API key',
    description: 'The key is refused everywhere within a second of the answer.',
    status: 204,
    errors: { api_key_not_found: 404 },
  })
  revoke(@By() by: Caller, @Param() { keyId }: ApiKeyParams): Promise<void> {
    return this.apiKeys.revoke(by, keyId);
  }
}
