import { DataSource, EntitySchema } from 'typeorm';
import { commandOptions } from '../../dist/src/platform/database/connection-options.js';
import { FastRepository } from '../../dist/src/platform/data/fast-repository.js';

// Writes times by a fast repository and by TypeORM; prints what each has stored, and how each reads what
// TypeORM has stored.
const TIMES = [
  '2026-02-28T12:00:00.123Z',
  '2026-07-01T00:30:00.000Z',
  '1969-12-31T23:59:59.999Z',
  '+010000-01-01T00:00:00.000Z',
];

class Moment {
  id;
}
const entity = new EntitySchema({
  name: 'moment',
  target: Moment,
  columns: {
    id: { type: 'bigint', primary: true, generated: 'identity' },
    local: { type: 'timestamp' },
    exact: { type: 'timestamptz' },
  },
});
const url = process.env.DATABASE_URL;
const own = await new DataSource({
  type: 'postgres',
  url,
  entities: [entity],
  synchronize: true,
}).initialize();
const service = await new DataSource({
  ...commandOptions({ DATABASE_URL: url, DATABASE_PREPARED_STATEMENTS: 'on' }),
  entities: [entity],
  extra: { max: 5 },
}).initialize();
const fast = new FastRepository(Moment, service.manager);

const stored = async ({ id }) =>
  JSON.stringify(await own.query('SELECT local::text, exact::text FROM moment WHERE id = $1', [id]));
const datesOf = ({ local, exact }) => JSON.stringify([local, exact]);
const rows = [];
for (const time of TIMES) {
  const values = { local: new Date(time), exact: new Date(time) };
  const saved = await own.getRepository(Moment).save({ ...values });
  const { id } = saved;
  rows.push({
    time,
    stored: await stored(await fast.addRow(values)),
    storedByTypeOrm: await stored(saved),
    read: datesOf(await fast.findRow({ id })),
    readByTypeOrm: datesOf(await own.getRepository(Moment).findOneBy({ id })),
  });
}
console.log(JSON.stringify(rows));
await own.destroy();
await service.destroy();
