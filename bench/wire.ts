import { hash } from 'node:crypto';

// Formats of the service that every server of the benchmark writes and reads.

/** The `createdAt` and `updatedAt` of the orders that a run prepares: their ETags depend only on their ids. */
export const PLACED_AT = '2026-11-21T12:00:00.000Z';

const marks = new Map<string | undefined, string>();

/** Identifies the list of all animals, or of the animals with a status, in a cursor. */
function markOf(status: string | undefined): string {
  const list = `pets by id\0${status === undefined ? '' : `status=${status}`}`;
  return marks.getOrInsertComputed(status, () => hash('sha256', list, 'base64url').slice(0, 12));
}

/** The position after an animal, in the list of all animals or of the animals with a status. */
export function encodeCursor(id: string, status?: string): string {
  return Buffer.from(`${markOf(status)}:${id}`).toString('base64url');
}

/** The `ETag` of a body. */
export function entityTag(body: string): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
}

/** The `ETag` of an order that a run has prepared. */
export function tagOfPlaced(id: number, petId: number): string {
  return entityTag(
    `{"id":${id},"petId":${petId},"status":"placed","createdAt":"${PLACED_AT}","updatedAt":"${PLACED_AT}"}`,
  );
}
