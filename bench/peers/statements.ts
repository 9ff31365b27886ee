import { randomUUIDv7 } from 'node:crypto';
import { type DatabaseError, Pool } from 'pg';
import { ApiError, type ErrorCode } from '../../src/platform/api/api-error.js';
import './peers.errors.js';

export interface NewPet {
  name: string;
  categoryId: string;
  status?: string | null;
}

/** A row of `pets`; its ids are decimal strings, as PostgreSQL sends them. */
export interface Pet extends NewPet {
  id: string;
}

export interface Order {
  id: string;
  petId: string;
  status: string;
  createdAt: Date;
  updatedAt: Date;
}

export interface Message {
  id: string;
  message: string;
  status: string;
  createdAt: Date;
}

export interface KeyOwner {
  accountId: string;
  keyId: string;
}

export interface ListQuery {
  limit: number;
  status?: string;
  /** The id after which the page starts. */
  after: string;
}

export const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 10 });

const PET = 'id, name, category_id AS "categoryId", status';
const ORDER = 'id, pet_id AS "petId", status, created_at AS "createdAt", updated_at AS "updatedAt"';

/** The owner of a key that has not expired. */
export async function findKeyOwner(hash: Buffer): Promise<KeyOwner> {
  const text = 'SELECT id, account_id, expires_at FROM api_keys WHERE hash = $1';
  const { rows } = await pool.query({ name: 'key', text, values: [hash] });
  if (!rows[0] || rows[0].expires_at?.getTime() <= Date.now()) throw new ApiError('invalid_api_key');
  return { accountId: rows[0].account_id, keyId: rows[0].id };
}

/** A page, and the id after which the next one starts. Status and limit are literals, so that each has its own plan. */
export async function listPets({ limit, status, after }: ListQuery): Promise<{ pets: Pet[]; next?: string }> {
  const filter = status ? `status = '${status}' AND` : '';
  const name = `pets ${status ?? ''} ${limit}`;
  const text = `SELECT ${PET} FROM pets WHERE ${filter} id > $1 ORDER BY id LIMIT ${limit + 1}`;
  const { rows: pets } = await pool.query<Pet>({ name, text, values: [after] });
  if (pets.length <= limit) return { pets };
  pets.pop();
  return { pets, next: pets[limit - 1]!.id };
}

export async function getPet(id: string): Promise<Pet> {
  const text = `SELECT ${PET} FROM pets WHERE id = $1`;
  const { rows } = await pool.query<Pet>({ name: 'pet', text, values: [id] });
  if (!rows[0]) throw new ApiError('pet_not_found');
  return rows[0];
}

export async function createPet({ name, categoryId, status }: NewPet): Promise<Pet> {
  const text = `INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${PET}`;
  const values = [name, categoryId, status ?? null];
  const query = pool.query<Pet>({ name: 'new pet', text, values });
  const { rows } = await query.catch(violation('pets_category_id_fkey', 'category_not_found', 400));
  return rows[0]!;
}

/** One statement is one transaction: the animal is reserved and the order written, or neither. */
export async function placeOrder(accountId: string, petId: string): Promise<Order> {
  const text = `
    WITH taken AS (UPDATE pets SET status = 'pending' WHERE id = $2 AND status = 'available' RETURNING id)
    INSERT INTO orders (account_id, pet_id, status) SELECT $1, id, 'placed' FROM taken RETURNING ${ORDER}`;
  const query = pool.query<Order>({ name: 'order', text, values: [accountId, petId] });
  const { rows } = await query.catch(violation('orders_open_pet_id_key', 'pet_not_available'));
  if (rows[0]) return rows[0];
  await getPet(petId).catch((error: unknown) => {
    throw error instanceof ApiError ? new ApiError(error.code, undefined, { status: 400 }) : error;
  });
  throw new ApiError('pet_not_available');
}

export async function submitMessage(accountId: string, message: string): Promise<Message> {
  const text = `
    INSERT INTO messages (id, account_id, message, status) VALUES ($1, $2, $3, 'queued')
    RETURNING id, message, status, created_at AS "createdAt"`;
  const values = [randomUUIDv7(), accountId, message];
  return (await pool.query<Message>({ name: 'message', text, values })).rows[0]!;
}

export function violation(
  constraint: string,
  code: ErrorCode,
  status?: number,
): (error: DatabaseError) => never {
  return (error) => {
    throw error.constraint === constraint ? new ApiError(code, undefined, { status }) : error;
  };
}
