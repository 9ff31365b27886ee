import { addPet, allPets, petStore, PetStoreError } from './client.ts';

// node examples/typescript/quickstart.ts [address of the service, ending in /v1]
const baseUrl = process.argv[2] ?? 'http://localhost:3000/v1';
const email = `ada-${Date.now()}@example.com`;
const password = 'correct horse battery';

const visitor = petStore(baseUrl);
const account = await visitor.POST('/accounts', { body: { email, password } });
if (account.error) throw new PetStoreError(account.error);

const login = { Authorization: `Basic ${btoa(`${email}:${password}`)}` };
const created = await visitor.POST('/api-keys', { body: { name: 'Quickstart' }, headers: login });
if (created.error) throw new PetStoreError(created.error);

const store = petStore(baseUrl, created.data.key);
const luna = await addPet(store, { name: 'Luna', categoryId: 2, status: 'available' });
console.log(`Added ${luna.name}.`);
for await (const { id, name } of allPets(store, { status: 'available' })) {
  if (id === luna.id) console.log(`${name} is available.`);
}
