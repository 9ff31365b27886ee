import type { IncomingMessage } from 'node:http';
import type { DatabaseError } from 'pg';
import { ApiError } from '../../src/platform/api/api-error.js';
import { parseQuery } from '../../src/platform/http/request-target.js';
import { encodeCursor } from '../wire.js';
import {
  authenticate,
  type ListQuery,
  locate,
  type NewPet,
  readId,
  readListQuery,
  readNewPet,
} from './checks.js';
import { type Answer, pool, readBody, serve } from './server.js';

/** A row of `pets`; ids are decimal strings, as PostgreSQL sends them. */
interface Pet extends NewPet {
  id: string;
}

/** The headers of getPet's deprecation. */
const DEPRECATION = {
  Deprecation: `@${Date.parse('2026-11-21') / 1000}`,
  Sunset: new Date('2030-12-05').toUTCString(),
  Link: '</v1/pets>; rel="successor-version"',
};
const PET = 'id, name, category_id AS "categoryId", status';
const GET = 'GET /v1/pets/';

serve(async (request) => {
  await authenticate(request.headers.authorization);
  const [path = '', search] = request.url!.split('?', 2);
  const operation = `${request.method} ${path}`;
  if (operation === 'GET /v1/pets') return list(search, request.headers.host);
  if (operation === 'POST /v1/pets') return create(request);
  if (operation.startsWith(GET)) return get(readId(operation.slice(GET.length), 'petId'));
  throw new ApiError('route_not_found');
});

async function list(search: string | undefined, host: string | undefined): Promise<Answer> {
  const query = parseQuery(search ?? '');
  const { pets, next } = await findPage(readListQuery(query));
  const body = `[${pets.map(toJson).join(',')}]`;
  if (next === undefined) return { status: 200, body };
  const parameters = new URLSearchParams({
    ...(query as Record<string, string>),
    cursor: encodeCursor(next, query.status as string | undefined),
  });
  return {
    status: 200,
    headers: { Link: `<http://${host}/v1/pets?${parameters.toString()}>; rel="next"` },
    body,
  };
}

/** A page, and the id after which the next page starts. Status and limit are literals, so that each has its own plan. */
async function findPage({ limit, status, after }: ListQuery): Promise<{ pets: Pet[]; next?: string }> {
  const filter = status ? `status = '${status}' AND` : '';
  const name = `pets ${status ?? ''} ${limit}`;
  const text = `SELECT ${PET} FROM pets WHERE ${filter} id > $1 ORDER BY id LIMIT ${limit + 1}`;
  const { rows: pets } = await pool.query<Pet>({ name, text, values: [after] });
  if (pets.length <= limit) return { pets };
  pets.pop();
  return { pets, next: pets[limit - 1]!.id };
}

async function get(id: string): Promise<Answer> {
  const text = `SELECT ${PET} FROM pets WHERE id = $1`;
  const { rows } = await pool.query<Pet>({ name: 'pet', text, values: [id] });
  if (!rows[0]) throw new ApiError('pet_not_found');
  return { status: 200, headers: DEPRECATION, body: toJson(rows[0]) };
}

async function create(request: IncomingMessage): Promise<Answer> {
  const { name, categoryId, status } = readNewPet((await readBody(request)).body);
  const text = `INSERT INTO pets (name, category_id, status) VALUES ($1, $2, $3) RETURNING ${PET}`;
  const values = [name, categoryId, status ?? null];
  const { rows } = await pool.query<Pet>({ name: 'new pet', text, values }).catch(withoutCategory);
  const [pet] = rows as [Pet];
  return {
    status: 201,
    headers: { Location: locate(request.headers.host, 'pets') + pet.id },
    body: toJson(pet),
  };
}

function withoutCategory(error: DatabaseError): never {
  if (error.constraint !== 'pets_category_id_fkey') throw error;
  throw new ApiError('category_not_found', undefined, { status: 400 });
}

/** Writes the digits of an int64 into the JSON unchanged. */
function toJson({ id, name, categoryId, status }: Pet): string {
  const end = status ? `,"status":"${status}"}` : '}';
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId}${end}`;
}
