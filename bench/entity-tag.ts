import { hash } from 'node:crypto';

/** When the orders were placed that a run prepares: their tags follow from their ids. */
export const PLACED_AT = '2026-11-21T12:00:00.000Z';

/** The `ETag` of a body as the service writes it; every server of the benchmark that has one has the same. */
export function entityTag(body: string): string {
  return `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
}

/** That of an order that was prepared. */
export function tagOfPlaced(id: number, petId: number): string {
  return entityTag(
    `{"id":${id},"petId":${petId},"status":"placed","createdAt":"${PLACED_AT}","updatedAt":"${PLACED_AT}"}`,
  );
}
