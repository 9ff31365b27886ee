import type { Type } from '@nestjs/common';
import { fieldsIn, gapWriter } from '../api/index.js';
import { type CarryOut, type RowInsert, Unfit } from '../data/index.js';
import type { Claim, KeyedRequest, StoredAnswer } from './idempotency-key.entity.js';

/** What is known of an answer before its row is. */
export interface Prospect {
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

/**
 * A keyed write that adds one row, in one statement: the look-up of what is stored under the key, the lock where nothing
 * is, the INSERT of the row behind that lock, and the INSERT of its answer. What the answer holds is written here but for what
 * the table assigns, which SQL puts in between. A violation undoes all of it, one of the primary key of the answers too: another one
 * has stored its answer between the look-up and the lock. Alone, a create with a key takes one round trip instead of three.
 */
export class SoleWrite {
  readonly createdAt = new Date();
  /** What is stored, and has committed. */
  kept?: StoredAnswer;
  /** What the statement has found of the key. */
  claim?: Claim;
  /** Whether the work was left as it was: it has no row. */
  isLeft = false;

  constructor(
    private readonly request: KeyedRequest,
    private readonly prospect: Prospect,
  ) {}

  readonly carryOut: CarryOut = async (insert) => {
    try {
      return await this.add(insert);
    } catch (error) {
      this.isLeft ||= error instanceof Unfit;
      throw error;
    }
  };

  private async add(insert: RowInsert): Promise<Row> {
    const { accountId, key, requestHash } = this.request;
    const { status, base } = this.prospect;
    const { name, text, write } = planOf(this.prospect.returns, insert);
    const parameters = [
      ...insert.parameters,
      ...[accountId, key, requestHash, base, status, this.createdAt.toISOString()],
      ...write(insert.values),
    ];
    const found = await insert.run(name, () => text, parameters);
    const [isMine, hash, location, storedBody, head, createdAt, body, id, ...row] = found!;
    const stored = createdAt ? { requestHash: hash, location, body: storedBody, head, createdAt } : undefined;
    this.claim = { isMine: isMine === true, stored } as Claim;
    if (stored || !isMine) throw new Unfit('The key is not free');
    if (body === null) throw new Error(`A trigger or a rule has left out the row: ${insert.name}`);
    this.kept = {
      status,
      headers: base === null ? {} : { location: `${base}${String(id)}` },
      body: body as string,
    };
    return row;
  }
}

function planOf(returns: Type, insert: RowInsert): Plan {
  let known = plans.get(returns);
  if (!known) plans.set(returns, (known = new Map<string, Plan>()));
  let plan = known.get(insert.name);
  if (!plan) known.set(insert.name, (plan = newPlan(returns, insert)));
  return plan;
}

/** @throws Unfit for a class whose JSON SQL cannot write */
function newPlan(returns: Type, insert: RowInsert): Plan {
  const gaps = insert.assigned(fieldsIn(returns).map(({ name }) => name));
  const [account, key, hash, base, status, createdAt] = [1, 2, 3, 4, 5, 6].map(
    (i) => `$${insert.parameters.length + i}`,
  );
  const first = insert.parameters.length + 7;
  const body = gaps.map((gap, i) => `$${first + i}::text || ${insert.json(gap)} || `).join('');
  const id = insert.column('id');
  const text = `
    WITH stored AS MATERIALIZED (
      SELECT request_hash, location, body, head, created_at FROM idempotency_keys
      WHERE account_id = ${account}::bigint AND key = ${key}::text),
    tried AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(hashtextextended(${key}, ${account})) AS is_mine
      WHERE NOT EXISTS (SELECT FROM stored)),
    gate AS (SELECT FROM tried WHERE is_mine),
    made AS (${insert.text('gate')}),
    kept AS (
      INSERT INTO idempotency_keys (account_id, key, request_hash, location, body, head, created_at)
      SELECT ${account}, ${key}, ${hash}::bytea, ${base}::text || ${id}, ${body}$${first + gaps.length}::text,
        jsonb_build_object('status', ${status}::integer, 'createdAt', ${createdAt}::text,
          'headers', jsonb_strip_nulls(jsonb_build_object('location', ${base} || ${id}))),
        ${createdAt}::timestamptz
      FROM made RETURNING body)
    SELECT tried.is_mine, stored.*, kept.body, made.${id}, made.*
    FROM (SELECT) AS asked LEFT JOIN tried ON true LEFT JOIN stored ON true
      LEFT JOIN made ON true LEFT JOIN kept ON true`;
  const name = `insert once ${insert.name} for ${gaps.join()}`;
  return { write: gapWriter(returns, new Set(gaps)), name, text };
}
