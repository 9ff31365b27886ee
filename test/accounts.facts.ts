import type { Facts } from '../src/testing/facts.js';

export const facts: Facts = {
  // Only an access token makes one: no example that a key is sent with does.
  rows: (from, to) => [
    `INSERT INTO account_identities (issuer, subject, account_id)
      SELECT 'https://id.example.com', 'subject-' || i, i
      FROM generate_series(${from}, ${to}) AS i`,
  ],
};
