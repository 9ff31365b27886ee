import type { Type } from '@nestjs/common';
import { QueryFailedError } from 'typeorm';
import { fieldsIn, gapWriter } from '../api/index.js';
import { OneStatement, parameterColumn, PLACE, sentTogether, Unfit, valuesOf } from '../data/index.js';
import type { Batcher, Connections } from '../database/index.js';
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

/** The statements of one class of answers and one set of columns: of one write, and of several. */
interface Plan {
  /** The texts of an answer between which the fields belong that the table assigns. */
  write: (values: object) => string[];
  name: string;
  text: string;
  textOfMany: () => string;
}

const plans = new WeakMap<Type, Map<string, Plan>>();

/** A statement that keeps one write, without its last parameter, which is its place among those that are sent together. */
export interface KeyedRun {
  request: KeyedRequest;
  plan: Plan;
  statement: OneStatement;
  parameters: unknown[];
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
  return sentTogether<KeyedRun>(connections, {
    first: (all, lockMs) => {
      const lists = [all.map(({ request }) => request.accountId), all.map(({ request }) => request.key)];
      return [[LOCK, [...lists, lockMs ?? null]]];
    },
    nameOf: ({ statement, plan }) => (statement.isForMany ? plan.name : undefined),
    runOf: (all, places) => {
      const [{ plan, statement }] = all as [KeyedRun];
      const rows = all.map(({ parameters }, i) => [...parameters, places[i]! + 1]);
      if (all.length === 1) return [statement.prepare(plan.name, () => plan.text), rows[0]!];
      return [statement.prepare(`many ${plan.name}`, plan.textOfMany), valuesOf(rows[0]!, rows)];
    },
  });
}

/**
 * A keyed write of one row, and of what belongs to it, in one statement behind the lock of the key: the look-up of what is stored
 * under that, the writes where nothing is, and the INSERT of the answer. What the answer holds is written here but for
 * what the table assigns, which SQL puts in between. A violation undoes all of it, one of the primary key of the answers too:
 * another one has stored its answer between the look-up and the INSERT. A lone write with a key takes one round trip (two where
 * a row is changed) instead of three or four; those of one moment take one together, and one statement if they do the same.
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
    const plan = planOf(this.prospect.returns, statement);
    const parameters = [
      ...statement.parameters,
      ...[accountId, key, requestHash, base, status, this.createdAt.toISOString()],
      ...plan.write(statement.values),
    ];
    const found = await this.runs
      .add({ request: this.request, plan, statement, parameters }, this.request.bytes)
      .catch((error: Error) => {
        throw new QueryFailedError(plan.text, parameters, error);
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
  const name = `once ${statement.name} for ${gaps.join()}`;
  const text = (isOne: boolean) => textOf(statement, gaps, isOne);
  return { write: gapWriter(returns, new Set(gaps)), name, text: text(true), textOfMany: () => text(false) };
}

/** The statement that keeps one write, or several: with a row for each, in the order of their places. */
function textOf(statement: OneStatement, gaps: readonly string[], isOne: boolean): string {
  const json = gaps.map((gap) => statement.json(gap));
  const id = statement.column('id');
  const texts = ['text', ...json.map(() => 'text')];
  const types = ['bigint', 'text', 'bytea', 'text', 'integer', 'text', ...texts, 'integer'];
  const first = statement.parameters.length + 1;
  const own = types.map((_type, i) => (isOne ? `$${first + i}` : parameterColumn(first + i)));
  const [account, key, hash, base, status, createdAt] = own;
  const place = own.at(-1)!;
  const parts = own.slice(-1 - texts.length, -1).map((part) => `${part}::text`);
  const body = parts.flatMap((part, i) => [part, ...json.slice(i, i + 1)]).join(' || ');

  // What differs where it is several: they come as lists, and are told apart by their places.
  const all = statement.items(types);
  const its = isOne
    ? {
        asked: '',
        gate: '',
        writes: statement.queries,
        made: 'made',
        check: statement.check,
        found: 'found LEFT JOIN made ON true LEFT JOIN kept ON true',
      }
    : {
        asked: `* FROM unnest(${statement.lists(types)}) AS list(${all})`,
        gate: `${all}, row_number() OVER (ORDER BY place) AS ${PLACE}`,
        writes: statement.queriesOfMany,
        made: `made JOIN gate USING (${PLACE})`,
        check: statement.checkOfMany,
        found: `found LEFT JOIN kept ON kept.account_id = found.${account} AND kept.key = found.${key}
          LEFT JOIN (gate JOIN made USING (${PLACE})) ON gate.${place} = found.place ORDER BY found.place`,
      };
  return `
    WITH asked AS MATERIALIZED (SELECT ${its.asked}),
    found AS MATERIALIZED (
      SELECT asked.*, ${place}::integer AS place, stored.*, CASE WHEN stored.created_at IS NULL
        THEN substr(current_setting('petstore.keys_are_mine', true), ${place}, 1) = '1' END AS is_mine
      FROM asked LEFT JOIN LATERAL (
        SELECT request_hash, location, body, head, created_at FROM idempotency_keys
        WHERE account_id = ${account}::bigint AND key = ${key}::text LIMIT 1) AS stored ON true),
    gate AS MATERIALIZED (SELECT ${its.gate} FROM found WHERE is_mine),
    ${its.writes},
    kept AS (
      INSERT INTO idempotency_keys (account_id, key, request_hash, location, body, head, created_at)
      SELECT ${account}, ${key}, ${hash}::bytea, ${base}::text || ${id}, ${body},
        jsonb_build_object('status', ${status}::integer, 'createdAt', ${createdAt}::text,
          'headers', jsonb_strip_nulls(jsonb_build_object('location', ${base} || ${id}))),
        ${createdAt}::timestamptz
      FROM ${its.made} RETURNING account_id, key, body)
    SELECT found.is_mine, found.request_hash, found.location, found.body, found.head, found.created_at, kept.body,
      ${its.check}, made.${id}, made.*
    FROM ${its.found}`;
}
