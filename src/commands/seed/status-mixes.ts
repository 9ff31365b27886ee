import { PetStatus } from '../../pets/pet.entity.js';

/** How many of 100,000 animals have each status; the others have none. */
export type StatusMix = Partial<Record<PetStatus, number>>;

/** What a catalogue can look like. */
export const STATUS_MIXES = {
  /** A shop: most animals can be ordered, a few are reserved. */
  shop: { [PetStatus.Available]: 60_000, [PetStatus.Pending]: 5_000, [PetStatus.Sold]: 30_000 },
  /** An old shop: nearly all were sold long ago. A plan that searches through them for the others is slow. */
  rare: { [PetStatus.Available]: 100, [PetStatus.Pending]: 1, [PetStatus.Sold]: 99_899 },
  even: { [PetStatus.Available]: 25_000, [PetStatus.Pending]: 25_000, [PetStatus.Sold]: 25_000 },
} satisfies Record<string, StatusMix>;

export type StatusMixName = keyof typeof STATUS_MIXES;

/**
 * SQL that gives each of the numbers `number` its status: in the proportions of the mix within any 100,000 consecutive
 * numbers, evenly spread.
 */
export function statusOf(mix: StatusMix, number: string): string {
  let bound = 0;
  const cases = Object.entries(mix).map(
    ([status, count]) => `WHEN place < ${(bound += count)} THEN '${status}'`,
  );
  // The factor has no common divisor with 100,000, so every place occurs once.
  return `(SELECT CASE ${cases.join(' ')} END FROM (SELECT ${number} * 7919 % 100000 AS place) AS drawn)`;
}
