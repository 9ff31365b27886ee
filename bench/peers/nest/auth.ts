import { createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import { AuthGuard, PassportStrategy } from '@nestjs/passport';
import { InjectRepository } from '@nestjs/typeorm';
import type { Request } from 'express';
import { Strategy } from 'passport-http-bearer';
import { Repository } from 'typeorm';
import { hashSecret } from '../../../src/auth/secret.js';
import { ApiError } from '../../../src/platform/api/api-error.js';
import { ApiKey } from './entities.js';

/** A query for the key of every request, as usual. */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'bearer') {
  constructor(@InjectRepository(ApiKey) private readonly apiKeys: Repository<ApiKey>) {
    super();
  }

  async validate(key: string): Promise<ApiKey | null> {
    const found = await this.apiKeys.findOneBy({ hash: hashSecret(key) });
    return found?.expiresAt && found.expiresAt.getTime() <= Date.now() ? null : found;
  }
}

@Injectable()
export class BearerGuard extends AuthGuard('bearer') {
  override handleRequest<TUser>(
    error: unknown,
    user: TUser,
    _info: unknown,
    context: ExecutionContext,
  ): TUser {
    if (error) throw error;
    if (user) return user;
    const { authorization } = context.switchToHttp().getRequest<Request>().headers;
    throw new ApiError(authorization ? 'invalid_api_key' : 'missing_api_key');
  }
}

export const AccountId = createParamDecorator(
  (_data: unknown, context: ExecutionContext): string => context.switchToHttp().getRequest().user.accountId,
);
