import { appendFileSync } from 'node:fs';
import pg from 'pg';

// The service, which also appends each statement that it sends to the file STATEMENTS, as a line of JSON.
const { value: query } = Object.getOwnPropertyDescriptor(pg.Client.prototype, 'query');

pg.Client.prototype.query = function (...args) {
  const [sent, values = []] = args;
  const statements = sent.runs
    ? sent.runs.map(([{ text }, given]) => ({ text, values: given }))
    : [typeof sent === 'string' ? { text: sent, values } : { text: sent.text, values: sent.values ?? [] }];
  for (const statement of statements)
    // What only prepares a statement runs none.
    if (statement.text && Array.isArray(statement.values) && (sent.runs || !sent.submit))
      appendFileSync(process.env.STATEMENTS, `${JSON.stringify(statement)}\n`);
  return query.apply(this, args);
};

await import('../../dist/src/main.js');
