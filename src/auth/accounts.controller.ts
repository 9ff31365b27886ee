import { Body, Controller, Post } from '@nestjs/common';
import { Operation, Public, Tag } from '../common/operation.js';
import { AccountDto, ACCOUNTS_TAG, NewAccountDto, toAccountDto } from './account.dto.js';
import { AccountsService } from './accounts.service.js';

@Tag(...ACCOUNTS_TAG)
@Controller('accounts')
export class AccountsController {
  constructor(private readonly accounts: AccountsService) {}

  @Post()
  @Public()
  @Operation({
    id: 'createAccount',
    summary: 'Create an account',
    description: 'The first step: its email and password then create API keys.',
    returns: AccountDto,
    status: 201,
    errors: { account_exists: 409 },
  })
  async create(@Body() body: NewAccountDto): Promise<AccountDto> {
    return toAccountDto(await this.accounts.create(body));
  }
}
