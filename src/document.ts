import type { ProductFacts } from './platform/docs/index.js';

/** What the service does; a sentence appears if the service has its operation. */
const DOES = [
  '<!-- with createPet -->List, add and fetch the animals of a store.<!-- /with -->',
  '<!-- with placeOrder -->Place orders for them.<!-- /with -->',
  '<!-- with submitMessage -->Submit messages.<!-- /with -->',
].join(' ');

/** Texts about the whole service, for the OpenAPI document and the start page; each feature describes its operations. */
export const PRODUCT: ProductFacts = {
  title: 'Pet Store API',
  version: '1.0.0',
  team: 'Pet store team',
  license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
  credentials: {
    basic: 'Email (as the username) and password of an account, only for managing API keys and the account.',
    bearer:
      'An API key: `POST /api-keys` creates one; a service on its embedded database prints a demo key when it starts.',
    openIdConnect:
      'An access token of the identity provider, sent as `Authorization: Bearer <token>`: it also manages the account and its API keys.',
  },
  unversioned: 'Messages',
  tags: { accounts: 'Create an account, and the API keys that every other operation needs.' },
  lead: `${DOES} Plain JSON over HTTP.`,
  firstRequest: String.raw`
Create an account and, with its email and password, an API key<!-- with createPet -->; then add an animal, and list what is available<!-- /with -->:

~~~sh
BASE=http://localhost:3000/v1

# An account (409 if it exists already), and an API key made with its email and password
curl -w '\n' -X POST $BASE/accounts -H 'Content-Type: application/json' \
  -d '{"email":"grace@example.com","password":"correct horse battery"}'
API_KEY=$(curl -s -X POST $BASE/api-keys -u 'grace@example.com:correct horse battery' \
  -H 'Content-Type: application/json' -d '{"name":"My first key"}' \
  | sed 's/.*"key":"\([^"]*\)".*/\1/')

<!-- with createPet --># Add an animal, and list what is available
curl -w '\n' -X POST $BASE/pets -H "Authorization: Bearer $API_KEY" \
  -H 'Content-Type: application/json' -d '{"name":"Luna","categoryId":2,"status":"available"}'
curl -w '\n' "$BASE/pets?status=available&limit=10" -H "Authorization: Bearer $API_KEY"
<!-- /with -->~~~
`.trim(),
  description: `
${DOES}

**First steps.** Create an account, create an API key with its email and password, and send that key with every other
request: \`Authorization: Bearer <API key>\`. The [guides](/guides) show [each step](/guides/first-steps).

**Permissions.** A key has the permissions in its list; a key made without a list has all of its account's. Each operation
names the permission that it needs, and answers 403 \`permission_denied\` without it ([guide](/guides/authentication)).

**Errors.** Every failure is answered with the same shape: a \`code\` to switch on, a \`message\` to read, and the
\`status\` of the response. The schema \`ErrorCode\` lists [every code with its meaning](/reference#errors); the
[guide on errors](/guides/errors) says what to do about each.

**Lists.** A list comes in pages, in ascending order of ids. If more items follow, the \`Link\` header has the address
of the next page ([guide](/guides/paging)).

**Identifiers** are 64-bit integers, exact in both directions. Those that the service assigns stay below 2^53, so that
JavaScript holds them too ([guide](/guides/int64)).

**Stability.** Operations marked *beta* may still change in details; those marked *experimental* may change altogether
([guide](/guides/versions)).

**This document** for tools: [openapi.json](/openapi.json), [openapi.yaml](/openapi.yaml). Clients can be generated from it
([guide](/guides/clients)).
`.trim(),
};
