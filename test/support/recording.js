import { appendFileSync } from 'node:fs';
import pg from 'pg';

// The service, which also appends each statement that it sends to the file STATEMENTS, as a line of JSON.
const { value: query } = Object.getOwnPropertyDescriptor(pg.Client.prototype, 'query');

pg.Client.prototype.query = function (...args) {
  const [sent, given = []] = args;
  const { text, values = given, name } = typeof sent === 'string' ? { text: sent } : sent;
  if (text && Array.isArray(values) && !sent.submit)
    appendFileSync(process.env.STATEMENTS, `${JSON.stringify({ text, values, isPrepared: !!name })}\n`);
  return query.apply(this, args);
};

await import('../../dist/src/main.js');
