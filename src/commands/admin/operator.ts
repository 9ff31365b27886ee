import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import type { INestApplicationContext, Type } from '@nestjs/common';
import { read } from 'read';
import type { Account } from '../../auth/account.entity.js';
import { AccountsService } from '../../auth/accounts.service.js';
import { Identities } from '../../auth/identities.js';
import { type Caller, fieldsIn, isInt64Text, type Page, type PageQuery } from '../../platform/api/index.js';
import { OperatorError } from '../../platform/process/index.js';
import type { AuditRecord } from '../../platform/safeguards/index.js';
import type { CommandLine } from '../command.js';

/** The author of a command's changes, for the audit log. */
export const OPERATOR = { isOperator: true };

/** Rows per page of a list. */
const PAGE = 1_000;

/** Gives the admin commands the services and the terminal. */
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

  /** The operator as the caller of changes to an account. @throws OperatorError unless the account is open */
  async actingOn(name: string): Promise<Caller> {
    const { id, closedAt } = await this.account(name);
    if (closedAt) throw new OperatorError(`The account ${JSON.stringify(name)} is closed.`);
    return { ...OPERATOR, accountId: id };
  }

  private async account(name: string): Promise<Account> {
    const accounts = this.get(AccountsService);
    // A subject may contain spaces; an issuer and an email may not.
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
   * A generated password of 192 random bits, to be shown; or a password from standard input, without echo at a terminal. Never
   * an argument: arguments end up in the shell's history and the process list.
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

/** The fields of a row, with values as JSON. */
export type Fields = Record<string, string>;

type Pages = Iterable<Fields[]> | AsyncIterable<Fields[]>;

/** The fields of an item by its DTO class, as in an answer of the API. */
export function fieldsOf(type: Type, item: object): Fields {
  const values = item as Record<string, unknown>;
  const given = fieldsIn(type).filter(([name]) => values[name] !== undefined && values[name] !== null);
  return Object.fromEntries(given.map(([name, field]) => [name, field.write(values[name])]));
}

function toObject(row: Fields): string {
  const fields = Object.entries(row).map(([name, value]) => `${JSON.stringify(name)}: ${value}`);
  return `{ ${fields.join(', ')} }`;
}

async function* asJson(pages: Pages): AsyncGenerator<string> {
  let before = '[';
  for await (const page of pages)
    for (const row of page) {
      yield before + toObject(row);
      before = ',';
    }
  yield before === '[' ? '[]' : ']';
}

/** The lines of a table. A column is as wide as its widest text so far. */
async function* asTable(names: string[], pages: Pages): AsyncGenerator<string> {
  const widths = names.map(() => 0);
  let head = [names];
  for await (const page of pages) {
    if (page.length === 0) continue;
    const lines = [...head, ...page.map((row) => names.map((name) => cell(row[name])))];
    for (const line of lines)
      for (const [i, shown] of line.entries()) widths[i] = Math.max(widths[i]!, shown.length);
    const pad = (shown: string, i: number) => shown.padEnd(widths[i]!);
    yield lines.map((line) => line.map(pad).join('  ').trimEnd()).join('\n');
    head = [];
  }
  if (head.length > 0) yield 'None.';
}

/** Escaped as in JSON: a name may hold terminal escape sequences. */
function cell(json = ''): string {
  return json
    .replace(/^"(.*)"$/, '$1')
    .replace(/[\u007f-\u009f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}

/** Fields that are printed as numbers if they are integers. A request id is a text, even of digits alone. */
const IDS = new Set(['accountId', 'keyId', 'subjectId']);

/** Records as lines of JSON, without null values. Ids keep all digits. */
export async function* auditLines(records: AsyncIterable<AuditRecord>): AsyncGenerator<string> {
  for await (const { id: _id, createdAt: at, ...rest } of records) {
    const given = Object.entries({ at, ...rest }).filter(([, value]) => value !== null);
    const fields = given.map(([name, value]) => {
      const isId = IDS.has(name) && typeof value === 'string' && isInt64Text(value);
      return [name, isId ? JSON.rawJSON(value) : value];
    });
    yield JSON.stringify(Object.fromEntries(fields));
  }
}
