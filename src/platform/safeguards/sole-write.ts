import type { Type } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { fieldsIn, gapWriter } from '../api/index.js';
import { OneStatement, runsTogether, Unfit } from '../data/index.js';
import type { Batcher, Connections, Run } from '../database/index.js';
import type { Claim, KeyedRequest, StoredAnswer } from './idempotency-key.entity.js';

/** What is known of an answer before its row is. */
export interface Prospect {
  /** The operation. */
  readonly id: string;
  /** The class of the answer. */
  readonly returns: Type;
  readonly status: number;
  /** What its `Location` has before the id; null if it has none. */
  readonly base: string | null;
}

type Row = unknown[];

/** The statement of one class of answers and one set of columns. */
interface Plan {
  /** The texts of an answer between which the fields belong that the table assigns. */
  write: (item: object) => string[];
  name: string;
  text: string;
}

const plans = new WeakMap<Type, Map<string, Plan>>();

/** A statement that keeps one write, whose last parameter is its place among those that are sent together; and the key. */
export interface KeyedRun {
  request: KeyedRequest;
  run: Run;
}

/**
 * Takes the locks of keys before their statements wait for a table that somebody else has locked: only then are the keys in
 * use for all others. Which it has, a setting says until the transaction ends; without a transaction, nothing does.
 */
const LOCK = {
  name: 'idempotency_lock',
  text: `SELECT set_config('lock_timeout', coalesce($3, current_setting('lock_timeout')), true),
    set_config('petstore.keys_are_mine', (SELECT string_agg(
      pg_try_advisory_xact_lock(hashtextextended(asked.key, asked.account_id))::integer::text, '' ORDER BY n)
    FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS asked(account_id, key, n)), true)`,
};

/** Sends the keyed writes of one moment together, behind the locks of their keys. */
export function keyedRuns(connections: Connections): Batcher<KeyedRun, Row> {
  return runsTogether(connections, (all, lockMs) => {
    const requests = all.map(({ request }) => request);
    const lists = [requests.map((one) => one.accountId), requests.map((one) => one.key)];
    const locks: Run = [LOCK, [...lists, lockMs ?? null]];
    const runs = all.map((one, i) => {
      const [statement, values] = one.run;
      return [[statement, [...values, i + 1]], one] as const;
    });
    return { first: [locks], runs };
  });
}

/**
 * A keyed write of one row, and of what belongs to it, in one statement behind the lock of the key: the look-up of what is stored
 * under that, the writes where nothing is, and the INSERT of the answer. What the answer holds is written here but for
 * what the table assigns, which SQL puts in between. A violation undoes all of it, one of the primary key of the answers too:
 * another one has stored its answer between the look-up and the INSERT. A lone write with a key takes one round trip (two where
 * a row is changed) instead of three or four.
 */
export class SoleWrite {
  readonly createdAt = new Date();
  /** What is stored, and has committed. */
  kept?: StoredAnswer;
  /** What the statement has found of the key. */
  claim?: Claim;
  /** Gathers what the work writes. */
  readonly statement = new OneStatement((statement) => this.write(statement));

  constructor(
    private readonly request: KeyedRequest,
    private readonly prospect: Prospect,
    private readonly runs: Batcher<KeyedRun, Row>,
  ) {}

  private async write(statement: OneStatement): Promise<Row> {
    const { accountId, key, requestHash } = this.request;
    const { status, base } = this.prospect;
    const { name, text, write } = planOf(this.prospect.returns, statement);
    const parameters = [
      ...statement.parameters,
      ...[accountId, key, requestHash, base, status, this.createdAt.toISOString()],
      ...write(statement.values),
    ];
    const run: Run = [statement.prepare(name, () => text), parameters];
    const found = await this.runs
      .add({ request: this.request, run }, this.request.bytes)
      .catch((error: Error) => {
        throw new QueryFailedError(text, parameters, error);
      });
    const [isMine, hash, location, storedBody, head, createdAt, body, , id, ...row] = found;
    const stored = createdAt ? { requestHash: hash, location, body: storedBody, head, createdAt } : undefined;
    this.claim = { isMine: isMine === true, stored } as Claim;
    if (stored || !isMine) throw new Unfit('The key is not free');
    if (body === null) throw new Unfit('A row is not there, or not as it was');
    this.kept = {
      status,
      headers: base === null ? {} : { location: `${base}${String(id)}` },
      body: body as string,
    };
    return row;
  }
}

function planOf(returns: Type, statement: OneStatement): Plan {
  let known = plans.get(returns);
  if (!known) plans.set(returns, (known = new Map<string, Plan>()));
  const { name } = statement;
  let plan = known.get(name);
  if (!plan) known.set(name, (plan = newPlan(returns, statement)));
  return plan;
}

/** @throws Unfit for a class whose JSON SQL cannot write */
function newPlan(returns: Type, statement: OneStatement): Plan {
  const gaps = statement.assigned(fieldsIn(returns).map(({ name }) => name));
  const { length } = statement.parameters;
  const [account, key, hash, base, status, createdAt] = [1, 2, 3, 4, 5, 6].map((i) => `$${length + i}`);
  const first = length + 7;
  const place = `$${first + gaps.length + 1}`;
  const body = gaps.map((gap, i) => `$${first + i}::text || ${statement.json(gap)} || `).join('');
  const id = statement.column('id');
  const text = `
    WITH stored AS MATERIALIZED (
      SELECT request_hash, location, body, head, created_at FROM idempotency_keys
      WHERE account_id = ${account}::bigint AND key = ${key}::text),
    tried AS MATERIALIZED (
      SELECT substr(current_setting('petstore.keys_are_mine', true), ${place}::integer, 1) = '1' AS is_mine
      WHERE NOT EXISTS (SELECT FROM stored)),
    gate AS (SELECT FROM tried WHERE is_mine),
    ${statement.queries('gate')},
    kept AS (
      INSERT INTO idempotency_keys (account_id, key, request_hash, location, body, head, created_at)
      SELECT ${account}, ${key}, ${hash}::bytea, ${base}::text || ${id}, ${body}$${first + gaps.length}::text,
        jsonb_build_object('status', ${status}::integer, 'createdAt', ${createdAt}::text,
          'headers', jsonb_strip_nulls(jsonb_build_object('location', ${base} || ${id}))),
        ${createdAt}::timestamptz
      FROM made RETURNING body)
    SELECT tried.is_mine, stored.*, kept.body, ${statement.check}, made.${id}, made.*
    FROM (SELECT) AS asked LEFT JOIN tried ON true LEFT JOIN stored ON true
      LEFT JOIN made ON true LEFT JOIN kept ON true`;
  const name = `once ${statement.name} for ${gaps.join()}`;
  return { write: gapWriter(returns, new Set(gaps)), name, text };
}
