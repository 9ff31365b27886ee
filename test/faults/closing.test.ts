import { once } from 'node:events';
import { call, createAccount } from '../../src/testing/client.js';
import { query, startService } from '../../src/testing/service.js';
import { Customer } from '../support/customer.js';
import { eventually } from '../support/npm.js';
import { DatabaseServer } from './support/database-server.js';

test('An order that another instance has accepted for a closed account is cancelled though both are killed right after', async () => {
  const database = await DatabaseServer.start();
  const databaseUrl = database.url;
  const one = await startService({ DATABASE_URL: databaseUrl });
  const late = await startService({ DATABASE_URL: databaseUrl });
  let status;
  // Until one comes in the moment in which the other instance still knows its key.
  while (status !== 201) {
    const account = await createAccount(one);
    const customer = await Customer.of(late, account);
    const petId = await customer.addPet('available');
    const over = new AbortController();
    const closed = call(one, 'DELETE', '/v1/accounts/current', { account }).finally(() => over.abort());
    while (!over.signal.aborted) await call(late, 'GET', '/v1/pets?limit=1', { key: customer.key });
    ({ status } = await customer.place(petId));
    expect((await closed).status).toBe(204);
  }
  for (const { process } of [one, late]) {
    process.kill('SIGKILL');
    await once(process, 'exit');
  }
  const next = await startService({ DATABASE_URL: databaseUrl, ROLE: 'worker' });
  const pending = `SELECT id FROM pets WHERE status = 'pending'`;
  await eventually(async () => (await query(databaseUrl, pending)).length === 0);
  const actions = `SELECT action FROM audit_log WHERE action IN ('order.placed', 'order.cancelled')`;
  const left = (await query<{ action: string }>(databaseUrl, actions)).map(({ action }) => action);
  const count = (action: string) => left.filter((one) => one === action).length;
  expect(count('order.cancelled')).toBe(count('order.placed'));
  await next.stop();
  await database.stop();
});
