import { createClient } from '../../clients/typescript/src/index.ts';

// node examples/typescript/quickstart.ts [address of the service, ending in /v1]
const baseUrl = process.argv[2] ?? 'http://localhost:3000/v1';
const email = `ada-${Date.now()}@example.com`;
const password = 'correct horse battery';

const visitor = createClient({ baseUrl });
await visitor.POST('/accounts', { body: { email, password } });

const headers = { Authorization: `Basic ${btoa(`${email}:${password}`)}` };
const { data: made } = await visitor.POST('/api-keys', { body: { name: 'Quickstart' }, headers });

const store = createClient({ baseUrl, key: made.key });
const { data: luna } = await store.POST('/pets', {
  body: { name: 'Luna', categoryId: 2, status: 'available' },
});
console.log(`Added ${luna.name}.`);
for await (const page of store.pages('/pets', { params: { query: { status: 'available' } } })) {
  if (page.some(({ id }) => id === luna.id)) console.log(`${luna.name} is available.`);
}
