import type { DataSource } from 'typeorm';
import { FastRepository } from '../src/platform/data/fast-repository.js';
import { Pet, PetStatus } from '../src/pets/pet.entity.js';
import { encodeCursor } from './cursor.js';

const LIMIT = 20;

/** A request, and the same of the service's own repository. */
export interface Question {
  title: string;
  path: (size: number) => string;
  ask: (database: DataSource, size: number) => Promise<unknown>;
}

const list = (title: string, status?: PetStatus, isDeep = false): Question => {
  const after = (size: number) => (isDeep ? String(Math.floor(size * 0.9)) : undefined);
  const search = (size: number) => [
    `limit=${LIMIT}`,
    ...(status ? [`status=${status}`] : []),
    ...(isDeep ? [`cursor=${encodeCursor(after(size)!)}`] : []),
  ];
  return {
    title,
    path: (size) => `/v1/pets?${search(size).join('&')}`,
    ask: (database, size) =>
      petsOf(database).page(
        { status },
        { limit: LIMIT, cursor: isDeep ? encodeCursor(after(size)!) : undefined },
      ),
  };
};

/** Ids from all of the table. */
const spread = (size: number) => Array.from({ length: LIMIT }, (_, i) => String(1 + i * (size / LIMIT)));

const petsOf = (database: DataSource) => new FastRepository(Pet, database.manager);

export const QUESTIONS: Question[] = [
  list('First page'),
  list('Deep page', undefined, true),
  list('Page of a common status', PetStatus.Sold),
  list('Deep page of a common status', PetStatus.Sold, true),
  list('Page of a rare status', PetStatus.Available),
  {
    title: 'Get by id',
    path: (size) => `/v1/pets/${size / 2}`,
    ask: (database, size) => petsOf(database).findRow({ id: String(size / 2) }),
  },
  {
    title: 'Twenty by id',
    path: (size) => `/v1/pets?limit=${LIMIT}&ids=${spread(size).join()}`,
    ask: (database, size) => petsOf(database).page({ id: spread(size) }, { limit: LIMIT }),
  },
];
