import { DataSource, EntitySchema } from 'typeorm';
import { commandOptions } from '../../dist/src/platform/database/connection-options.js';
import { FastRepository } from '../../dist/src/platform/data/fast-repository.js';

// Writes times by a fast repository, by TypeORM on the service's connections and by TypeORM on its own, and prints what
// each has stored, and how each reads what TypeORM has stored.
const TIMES = [
  '2026-02-28T12:00:00.123Z',
  '2026-07-01T00:30:00.000Z',
  '1969-12-31T23:59:59.999Z',
  '1850-06-01T12:34:56.789Z',
  '0099-01-01T00:00:00.000Z',
  '-000044-03-15T12:00:00.000Z',
  '+010000-01-01T00:00:00.000Z',
].map((text) => new Date(text));
const INFINITE = [Infinity, -Infinity];

class Moment {
  id;
}
const entity = new EntitySchema({
  name: 'moment',
  target: Moment,
  columns: {
    id: { type: 'bigint', primary: true, generated: 'identity' },
    local: { type: 'timestamp', nullable: true },
    exact: { type: 'timestamptz', nullable: true },
    day: { type: 'date', nullable: true },
    hour: { type: 'time', nullable: true },
    several: { type: 'timestamptz', array: true, nullable: true },
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

const stored = async (id) =>
  JSON.stringify(
    await own.query(
      `SELECT local::text, exact AT TIME ZONE 'UTC' AS utc, extract(epoch FROM exact)::text AS exact, day::text, hour::text, several::text
       FROM moment WHERE id = $1`,
      [id],
    ),
  );
const rows = [];
for (const time of [...TIMES, ...INFINITE]) {
  const isFinite = time instanceof Date;
  const hasDay = isFinite && time.getFullYear() > 0 && time.getFullYear() < 9999;
  const values = {
    local: time,
    exact: time,
    several: [time, time],
    ...(hasDay && { day: time, hour: '09:30:00' }),
  };
  const plain = await own.getRepository(Moment).save({ ...values });
  const same = await service.getRepository(Moment).save({ ...values });
  const [one, batched] = await Promise.all([fast.addRow(values), fast.addRows([values, values])]);
  const read = async (repository, id) => {
    const { id: _id, ...rest } = await repository.findOneBy({ id });
    return JSON.stringify(
      Object.values(rest).map((value) => (value instanceof Date ? value.getTime() : String(value))),
    );
  };
  const { id: _id, ...found } = await fast.findRow({ id: plain.id });
  rows.push({
    time: isFinite ? time.toISOString() : String(time),
    stored: await Promise.all([plain, same, one, ...batched].map(({ id }) => stored(id))),
    read: [
      await read(own.getRepository(Moment), plain.id),
      await read(service.getRepository(Moment), plain.id),
      JSON.stringify(
        Object.values(found).map((value) => (value instanceof Date ? value.getTime() : String(value))),
      ),
    ],
    isExact: await Promise.all(
      [fast, service.getRepository(Moment)].map(async (repository) => {
        const { local, exact } = await repository.findOneBy({ id: one.id });
        return [local, exact].every((value) => value.valueOf() === time.valueOf());
      }),
    ).then((both) => both.every(Boolean)),
  });
}
console.log(JSON.stringify(rows));
await own.destroy();
await service.destroy();
