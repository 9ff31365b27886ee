import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { read } from 'read';
import type { Account } from '../../auth/account.entity.js';
import { AccountsService } from '../../auth/accounts.service.js';
import { Identities } from '../../auth/identities.js';
import { type Caller, fieldsIn, isInt64Text, type Page, type PageQuery } from '../../platform/api/index.js';
import { OperatorError } from '../../platform/process/index.js';
import type { CommandLine } from '../command.js';
import { asJson, asTable, type Fields, fieldsOf, toObject } from './output.js';

/** The author of a command's changes, for the audit log. */
export const OPERATOR = { isOperator: true };

/** Rows per page of a list. */
const PAGE = 1_000;

/** Gives commands the services and the terminal. */
export class Operator {
  constructor(
    private readonly app: INestApplicationContext,
    private readonly line: CommandLine,
  ) {}

  get<Service>(type: Type<Service>): Service {
    return this.app.get(type);
  }

  /**
   * The id of an account.
   * @param name an id, an email, or an issuer and a subject separated by a space
   * @throws OperatorError if there is no such account
   */
  async accountId(name: string): Promise<string> {
    return (await this.account(name)).id;
  }

  /** The operator as the caller of a change to an account. @throws OperatorError if it does not exist, or is closed */
  async actingOn(name: string): Promise<Caller> {
    const { id, closedAt } = await this.account(name);
    if (closedAt) throw new OperatorError(`The account ${JSON.stringify(name)} is closed.`);
    return { ...OPERATOR, accountId: id };
  }

  private async account(name: string): Promise<Account> {
    const accounts = this.get(AccountsService);
    // A subject may contain spaces, an issuer or an email may not.
    const [, issuer, subject] = /^(\S+) (.+)$/s.exec(name) ?? [];
    const found = await (issuer && subject
      ? this.get(Identities).find({ issuer, subject })
      : isInt64Text(name)
        ? accounts.find(name)
        : accounts.findByEmail(name));
    if (!found) throw new OperatorError(`There is no account ${JSON.stringify(name)}.`);
    return found;
  }

  /**
   * A generated password of 192 random bits, to be shown; or a password from standard input or typed without echo. Never an
   * argument: arguments end up in the shell's history and the process list.
   */
  async newPassword(isGenerated = false): Promise<{ password: string; shown?: Fields }> {
    if (isGenerated) {
      const password = randomBytes(24).toString('base64url');
      return { password, shown: { password: JSON.stringify(password) } };
    }
    const { stdin: input, stderr: output } = this.line.environment.streams;
    if (input.isTTY) return { password: await read({ prompt: 'Password:', silent: true, input, output }) };
    const [password] = (await text(input)).split(/\r?\n/, 1);
    if (!password) throw new OperatorError('There is no password on standard input.');
    return { password };
  }

  print(lines: Iterable<string> | AsyncIterable<string>): Promise<void> {
    return this.line.print(lines);
  }

  /** Prints a row as a table, or as JSON. */
  show(row: Fields, isJson: boolean | undefined): Promise<void> {
    return this.print(isJson ? [toObject(row)] : asTable(Object.keys(row), [[row]]));
  }

  /** Prints the rows of a list page by page, with the fields of a DTO class. */
  list<Row extends { id: string }>(
    type: Type,
    list: (page: PageQuery) => Promise<Page<Row>>,
    isJson: boolean | undefined,
  ): Promise<void> {
    const pages = pagesOf(type, list);
    const names = fieldsIn(type).map(([name]) => name);
    return this.print(isJson ? asJson(pages) : asTable(names, pages));
  }
}

async function* pagesOf<Row extends { id: string }>(
  type: Type,
  list: (page: PageQuery) => Promise<Page<Row>>,
): AsyncGenerator<Fields[]> {
  let cursor: string | undefined;
  do {
    const page = await list({ limit: PAGE, cursor });
    yield page.items.map((item) => fieldsOf(type, item));
    cursor = page.next;
  } while (cursor !== undefined);
}
