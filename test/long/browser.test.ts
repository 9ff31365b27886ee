import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
  type Response,
} from 'playwright-core';
import { call } from '../../src/testing/client.js';
import { document, operations } from '../../src/testing/document.js';
import { executablePath } from '../support/chromium.js';
import { hasRequests, LANGUAGES } from '../support/languages.js';
import { eventually } from '../support/npm.js';
import { type Service, startService } from '../../src/testing/service.js';

const run = promisify(execFile);

// What the browser would fetch of its own accord must not pass for a request of the page.
const ARGS = [
  'disable-gpu',
  'force-prefers-reduced-motion',
  'disable-smooth-scrolling',
  'disable-quic',
  'disable-component-update',
  'disable-sync',
  'no-first-run',
];

// A busy machine takes seconds for each operation that is opened.
const SLOW = 240_000;

/** A page that is open, and what went wrong on it. */
interface Visit {
  page: Page;
  troubles: string[];
}

/** Finds faults of accessibility in a page (WCAG); runs there. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let folder: string;
/** On its embedded database, so with a demo key. */
let service: Service;
/** On a database of its own, so without one. */
let hosted: Service;
let browser: Browser;
/** Of `service`. */
let demoKey: string;
/** A page that is only looked at; what changes a page has one of its own. */
let first: Visit;
/** Visitors with the same options come with the same browser, each in a tab: all that the page remembers, it does there. */
const contexts = new Map<string, BrowserContext>();

(executablePath ? describe : describe.skip)('Swagger UI', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'petstore-browser-'));
    [service, hosted] = await Promise.all([
      startService({ DATABASE_URL: '', DATA_DIR: join(folder, 'data') }),
      startService({ STAGING_URL: 'https://staging.example.com/v1' }),
    ]);
    demoKey = demoKeyOf(service);
    browser = await chromium.launch({ executablePath, args: ARGS.map((name) => `--${name}`) });
    first = await visit();
  }, SLOW);
  afterEach(async () => {
    const open = [...contexts.values()].flatMap((context) => context.pages());
    await Promise.all(open.filter((page) => page !== first.page).map((page) => page.close()));
  });
  afterAll(async () => {
    await browser?.close();
    await Promise.all([service?.stop(), hosted?.stop()]);
    await rm(folder, { recursive: true, force: true });
  });

  test('opens with nothing from elsewhere, no error and an icon', async () => {
    const { page, troubles } = first;
    await page.waitForLoadState('networkidle');
    expect(await page.title()).toBe('Reference · Pet Store API');
    const icons = await hrefs(page.locator('link[rel=icon]'));
    expect(icons.length).toBeGreaterThan(0);
    for (const icon of icons) {
      const response = await fetch(new URL(icon, page.url()));
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    }
    expect(troubles).toEqual([]);
  });

  test('links to the document itself, as JSON and as YAML', async () => {
    const links = await hrefs(first.page.locator('.about a[href*=openapi]'));
    expect(links).toEqual(['openapi.json', 'openapi.yaml']);
    for (const link of links) expect((await fetch(`${service.url}/${link}`)).status).toBe(200);
  });

  test('lists every operation, under accounts, pets, categories, store and messages', async () => {
    const { page } = first;
    const panels = await page.locator('.operation').evaluateAll((found) => found.map(({ id }) => id));
    const expected = document.tags
      .map(({ name }: { name: string }) => name)
      .flatMap((tag: string) =>
        operations
          .filter(({ operation }) => operation.tags.includes(tag))
          .map(({ operation }) => `/${tag}/${operation.operationId}`),
      );
    // What the service sends itself comes last.
    const webhooks = Object.keys(document.webhooks).map((id) => `/webhooks/${id}`);
    expect(panels).toEqual([...expected, ...webhooks]);
    expect(expected).toHaveLength(operations.length);
  });

  test('says of production and staging that they are this server, as long as they have no address', async () => {
    const panel = await opened(first.page, 'createPet');
    expect(await panel.locator('.server option').allTextContents()).toEqual([
      '/v1 - Production and Staging (this server)',
    ]);
  });

  test('keeps the server that the reader chooses, in every panel and sample', async () => {
    const { page } = await visit({ on: hosted });
    const [panel, other] = [await opened(page, 'createPet'), await opened(page, 'listPets')];
    const [menu, otherMenu] = [panel, other].map((one) => one.locator('.server select'));
    const staging = 'https://staging.example.com/v1';
    await menu!.selectOption(staging);
    await other.locator('.samples pre:visible', { hasText: `${staging}/pets` }).waitFor();
    expect(await menu!.inputValue()).toBe(staging);
    expect(await otherMenu!.inputValue()).toBe(staging);
    const third = await opened(page, 'listOrders');
    expect(await third.locator('.server select').inputValue()).toBe(staging);
  });

  test('strikes getPet out, and no other operation, and tells its last day', async () => {
    const { page } = first;
    const deprecated = operations.filter(({ operation }) => operation.deprecated);
    expect(await page.locator('.route s').count()).toBe(deprecated.length);
    const path = panelOf(page, 'getPet').locator('.route s');
    expect(await path.evaluate(lineOf)).toBe('line-through');
    expect(await badgesOf(page, 'getPet')).toEqual(['deprecated, until 2030-12-05']);
  });

  test('tells beta and experimental operations from stable ones', async () => {
    const { page } = first;
    const found = new Set<unknown>();
    for (const { operation } of operations) {
      const marks = await badgesOf(page, operation.operationId);
      const mark = marks.find((one) => !one.startsWith('deprecated'));
      expect(mark).toBe(operation['x-stability']);
      found.add(mark);
    }
    expect(found).toEqual(new Set([undefined, 'beta', 'experimental']));
  });

  test(
    'opens the panel of every operation without an error',
    async () => {
      const { page, troubles } = await visit();
      await clickEach(page.locator('.try'));
      await page
        .locator('.execute')
        .nth(operations.length - 1)
        .waitFor();
      expect(await page.locator('body').textContent()).not.toMatch(/could not render|resolver error/i);
      expect(troubles).toEqual([]);
    },
    SLOW,
  );

  test(
    'answers the examples as they stand, with the demo key, and enters the ids of what is made',
    async () => {
      const { page, troubles } = await visit();
      expect(await nextStep(page).textContent()).toBe(
        'The key of your link is filled in. Next: Add an animal',
      );
      const pet = { id: 1, name: 'Luna', categoryId: 2, status: 'available' };
      expect(await hintsOf(page, 'getPet')).toEqual([
        expect.stringMatching(/Do this first.*: Add an animal\./),
      ]);
      await nextStep(page).getByText('Add an animal').click();
      expect(await execute(page, 'createPet', { isOpen: true })).toEqual({ status: 201, body: pet });
      expect(await nextStep(page).textContent()).toBe('The key of your link is filled in.');
      expect(await hintsOf(page, 'getPet', { isOpen: true })).toEqual([]);
      expect(await execute(page, 'listPets')).toEqual({ status: 200, body: [pet] });
      expect(await execute(page, 'createPet', { isOpen: true })).toMatchObject({ body: { id: 2 } });
      expect(await execute(page, 'getPet', { isOpen: true })).toMatchObject({ status: 200, body: { id: 2 } });
      expect(await execute(page, 'placeOrder')).toMatchObject({ status: 201, body: { petId: 2 } });
      expect(await execute(page, 'updateOrder')).toMatchObject({ status: 200, body: { status: 'approved' } });
      const category = (await execute(page, 'createCategory')).body;
      expect(await execute(page, 'getCategory')).toEqual({ status: 200, body: category });
      const message = (await execute(page, 'submitMessage')).body;
      expect(message).toMatchObject({ status: 'queued' });
      expect(await execute(page, 'getMessage')).toMatchObject({ status: 200, body: { id: message.id } });
      expect(troubles).toEqual([]);
    },
    SLOW,
  );

  test(
    'leaves an id that the reader has entered',
    async () => {
      const { page } = await visit();
      await opened(page, 'getOrder');
      const field = panelOf(page, 'getOrder').locator('tr[data-param-name=orderId] input');
      await field.fill('77');
      await page.waitForTimeout(500);
      expect(await execute(page, 'createPet')).toMatchObject({ status: 201 });
      const petId = (await execute(page, 'createPet', { isOpen: true })).body.id;
      await execute(page, 'placeOrder', { body: JSON.stringify({ petId }) });
      expect(await field.inputValue()).toBe('77');
    },
    SLOW,
  );

  test(
    'has the demo key by the link that the start prints, once, in its tab alone, and nowhere in the history',
    async () => {
      const started = await startService({ DATABASE_URL: '', DATA_DIR: join(folder, 'other') });
      try {
        const [, link] = / Swagger UI +(\S+)\n/.exec(started.output())!;
        const key = demoKeyOf(started);
        const { page, troubles } = await visit({ on: started, at: link! });
        await page.locator('.next-step.ready').waitFor();
        expect(await nextStep(page).textContent()).toBe(
          'The key of your link is filled in. Next: Add an animal',
        );
        await expectNoFault(page);
        expect(page.url()).toBe(`${started.url}/docs`);
        const left = () => page.evaluate<string>('location.href + JSON.stringify(history.state)');
        expect(await left()).not.toMatch(/petstore_/);
        // What the browser keeps of the address as it was opened.
        expect(await historyOf(page)).toContain(link!.split('#')[1]!);
        expect(await historyOf(page)).not.toContain(key);
        await page.reload();
        await page.locator('.next-step.ready').waitFor();
        expect(await page.evaluate('JSON.stringify(sessionStorage)')).toContain(key);
        expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).not.toContain(key);
        await page.waitForLoadState('networkidle');
        await page.goto('about:blank');
        await page.goBack();
        await page.locator('.next-step.ready').waitFor();
        expect(await left()).not.toMatch(/petstore_/);
        expect(troubles).toEqual([]);
        const { page: second } = await visit({ on: started, at: link! });
        await second.getByText('This link has been used').waitFor();
        expect(second.url()).toBe(`${started.url}/docs`);
        await expectNoFault(second);
        await second.getByRole('button', { name: 'Get a key' }).click();
        await second.locator('.next-step.ready').waitFor();
        expect(await nextStep(second).textContent()).toBe('Your API key is filled in. Next: Add an animal');
      } finally {
        await started.stop();
      }
    },
    SLOW,
  );

  test(
    'offers the key of a link to a tab that has another one, and keeps that unless told otherwise',
    async () => {
      const started = await startService({ DATABASE_URL: '', DATA_DIR: join(folder, 'other') });
      try {
        const [, link] = / Swagger UI +(\S+)\n/.exec(started.output())!;
        const { page, troubles } = await visit({ on: started });
        await page.getByRole('button', { name: 'Get a key' }).click();
        await page.locator('.next-step.ready').waitFor();
        const own = await keyInUse(page);
        await page.evaluate(`location.hash = ${JSON.stringify(new URL(link!).hash)}`);
        const take = page.getByRole('button', { name: 'Use the demo key' });
        await take.waitFor();
        await expectNoFault(page);
        expect(page.url()).toBe(`${started.url}/docs`);
        expect(await keyInUse(page)).toBe(own);
        await take.click();
        await nextStep(page).getByText('The key of your link is filled in.').waitFor();
        expect(await keyInUse(page)).toBe(demoKeyOf(started));
        expect(await take.count()).toBe(0);
        expect(troubles).toEqual([]);
      } finally {
        await started.stop();
      }
    },
    SLOW,
  );

  test('takes, shows and clears a key in its dialog, before any panel is open too', async () => {
    const { page, troubles } = await visit({ on: hosted });
    await page.locator('.key-help summary').click();
    const opener = page.locator('.key-help').getByRole('button', { name: 'Authorize' });
    const dialog = page.getByRole('dialog', { name: 'Authorize' });
    await opener.click();
    await dialog.waitFor();
    await expectNoFault(page);
    await page.keyboard.insertText('typed');
    await page.keyboard.press('Enter');
    await nextStep(page).getByText('Your API key is filled in.').waitFor();
    expect(await keyInUse(page)).toBe('typed');
    await openDialog(page);
    expect(await dialog.getByLabel('API key').inputValue()).toBe('typed');
    await dialog.getByLabel('API key').fill('other');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await keyInUse(page)).toBe('typed');
    await openDialog(page);
    await dialog.getByLabel('API key').fill('');
    await dialog.getByRole('button', { name: 'Use' }).click();
    await nextStep(page).getByText('You need an API key.').waitFor();
    expect(await keyInUse(page)).toBeUndefined();
    expect(troubles).toEqual([]);
  });

  test(
    'takes no key from an address, wherever it comes from, and says so',
    async () => {
      const { page, troubles } = await visit({ on: hosted, at: `${hosted.url}/docs#key=${demoKey}` });
      await nextStep(page).getByText('this page did not take').waitFor();
      expect(page.url()).toBe(`${hosted.url}/docs`);
      expect(await keyInUse(page)).toBeUndefined();
      await expectNoFault(page);
      await page.getByRole('button', { name: 'Get a key' }).click();
      await page.locator('.next-step.ready').waitFor();
      const own = await keyInUse(page);
      for (const hash of [
        `key=${demoKey}`,
        'key=<b>x</b>',
        'key=',
        `start=${demoKey}`,
        'start=',
        'start=<b>x</b>\\n',
      ]) {
        await page.evaluate(`location.hash = '#${hash}'`);
        await eventually(() => page.url() === `${hosted.url}/docs`);
        await nextStep(page)
          .getByText(hash.startsWith('key') ? 'did not take' : 'has been used')
          .waitFor();
        expect(await keyInUse(page)).toBe(own);
      }
      expect(await execute(page, 'listPets')).toMatchObject({ status: 200 });
      expect(troubles.filter((trouble) => !trouble.includes('401'))).toEqual([]);
    },
    SLOW,
  );

  test(
    'says so when the service refuses a key',
    async () => {
      const { page } = await visit({ on: hosted });
      await authorize(page, 'nonsense');
      await page.locator('.next-step.ready').waitFor();
      expect(await execute(page, 'listPets')).toMatchObject({ status: 401 });
      expect(await nextStep(page).textContent()).toMatch(
        /^The service refused the key.*You need an API key\.$/,
      );
    },
    SLOW,
  );

  test(
    'gives a visitor without a key an account and a key with one click, and remembers both in its tab',
    async () => {
      const { page, troubles } = await visit({ on: hosted, viewport: { width: 390, height: 850 } });
      await expectNoFault(page);
      await page.getByRole('button', { name: 'Get a key' }).click();
      await page.locator('.next-step.ready').waitFor();
      await expectNoFault(page);
      expect(await nextStep(page).textContent()).toBe('Your API key is filled in. Next: Add an animal');
      await eventually(() => page.locator('.next-step a').evaluate(isFocused));
      expect(await execute(page, 'listPets')).toMatchObject({ status: 200 });
      const told = () => page.locator('.key-help code').allTextContents();
      const [email, password] = await told();
      expect(email).toMatch(/^visitor\.\w{8}@petstore\.invalid$/);
      const account = { email: email!, password: password! };
      expect((await call(hosted, 'GET', '/v1/api-keys', { account })).body).toHaveLength(1);
      await page.reload();
      await page.locator('.next-step.ready').waitFor();
      expect(await told()).toEqual([email, password]);
      expect(await execute(page, 'listApiKeys')).toMatchObject({ status: 200 });
      expect((await pressed(page, 'revokeCurrentApiKey')).status()).toBe(204);
      await page.getByText('Your account is filled in. Next: Create an API key').waitFor();
      expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('petstore_');
      expect(troubles).toEqual([]);
    },
    SLOW,
  );

  test(
    'says why it could not get a key, and can try again',
    async () => {
      const limited = await startService({ AUTH_LIMIT_PER_MINUTE: '1', DATABASE_URL: hosted.databaseUrl });
      const body = { email: 'first@example.com', password: 'correct horse battery' };
      await call(limited, 'POST', '/v1/accounts', { body });
      const { page } = await visit({ on: limited });
      const button = page.getByRole('button', { name: 'Get a key' });
      await button.click();
      await nextStep(page).getByText('Too many requests').waitFor();
      await limited.stop();
      await button.click();
      await nextStep(page).getByText('is the service still running?').waitFor();
    },
    SLOW,
  );

  test(
    'leads from an animal to its order, and from state to state, with the ids of what was made',
    async () => {
      const { page, troubles } = await visit();
      const stepsOf = (id: string) => panelOf(page, id).locator('.next-steps a');
      await execute(page, 'createPet');
      const { id } = (await execute(page, 'createPet', { isOpen: true })).body;
      expect(await stepsOf('createPet').allTextContents()).toEqual(['Order an animal']);
      await stepsOf('createPet').click();
      const body = panelOf(page, 'placeOrder').locator('textarea');
      await body.waitFor();
      expect(JSON.parse(await body.inputValue())).toEqual({ petId: id });
      await panelOf(page, 'placeOrder')
        .locator('.samples pre:visible', { hasText: new RegExp(`"petId": ?${id}\\b`) })
        .waitFor();
      expect(await execute(page, 'placeOrder', { isOpen: true })).toMatchObject({ status: 201 });
      expect(await panelOf(page, 'placeOrder').locator('.curl-command').count()).toBe(0);
      for (const [from, status] of [
        ['placeOrder', 'approved'],
        ['updateOrder', 'delivered'],
      ] as const) {
        await stepsOf(from).getByText(`Set its status to ${status}`).click();
        const change = panelOf(page, 'updateOrder').locator('textarea');
        await eventually(async () => (await change.inputValue()).includes(status));
        expect(await execute(page, 'updateOrder', { isOpen: true })).toMatchObject({
          status: 200,
          body: { petId: id, status },
        });
      }
      expect(await stepsOf('updateOrder').count()).toBe(0);
      await expectNoFault(page);
      expect(troubles).toEqual([]);
    },
    SLOW,
  );

  test(
    'leads a newcomer from the front door through an order, a list, a retry and a refusal, all on this site',
    async () => {
      const { page, troubles } = await visit({ on: hosted });
      const panel = (id: string) => panelOf(page, id);
      const answered = (id: string, text: string) =>
        panel(id).locator('.live', { hasText: text }).waitFor({ state: 'attached' });
      const goTo = async (id: string, link: Locator) => {
        await link.click();
        await panel(id).getByRole('button', { name: 'Execute' }).waitFor();
        await eventually(() => panel(id).locator('h3').evaluate(isUncovered));
      };
      // Leaving the page would cut off what it still fetches.
      await page.waitForLoadState('networkidle');
      await page.goto(hosted.url);
      await page.getByRole('link', { name: 'Try it in the browser' }).click();
      await page.getByRole('button', { name: 'Get a key' }).click();
      await goTo('createPet', nextStep(page).getByRole('link', { name: 'Add an animal' }));
      await pressExecute(page, 'createPet');
      await goTo('placeOrder', panel('createPet').getByRole('link', { name: 'Order an animal' }));
      await pressExecute(page, 'placeOrder');
      await goTo(
        'updateOrder',
        panel('placeOrder').getByRole('link', { name: 'Set its status to approved' }),
      );
      await pressExecute(page, 'updateOrder');
      await panel('updateOrder').getByRole('link', { name: 'Set its status to delivered' }).click();
      await pressExecute(page, 'updateOrder');
      await answered('updateOrder', '"delivered"');

      await panel('createPet').locator('tr[data-param-name=Idempotency-Key] input').fill('newcomer');
      const first = await (await pressExecute(page, 'createPet')).json();
      const again = await pressExecute(page, 'createPet');
      await answered('createPet', 'idempotency-replayed');
      expect(await again.json()).toEqual(first);

      const side = page.getByRole('navigation', { name: 'Operations' });
      await side.getByRole('link', { name: 'List animals' }).click();
      await eventually(() => panel('listPets').locator('h3').evaluate(isUncovered));
      await panel('listPets').locator('.try').click();
      await panel('listPets').locator('tr[data-param-name=limit] input').fill('1');
      await pressExecute(page, 'listPets');
      const page2 = page.waitForResponse(/cursor=/);
      await panel('listPets').getByRole('button', { name: 'Next page' }).click();
      expect((await page2).status()).toBe(200);

      // The order is delivered: it cannot be delivered again.
      const refused = await pressExecute(page, 'updateOrder');
      await answered('updateOrder', refused.headers()['x-request-id']!);
      expect(troubles.splice(0).filter((trouble) => !trouble.includes('409'))).toEqual([]);
      await page.waitForLoadState('networkidle');
      await panel('updateOrder').getByRole('link', { name: 'What to do about it' }).click();
      await page
        .locator('tr', { has: page.locator('#invalid_transition') })
        .getByText('Fetch the order')
        .waitFor();
      expect(troubles).toEqual([]);
    },
    SLOW,
  );

  test('keeps the key in use where another one is made, and offers that', async () => {
    const { page } = await visit({ on: hosted });
    await page.getByRole('button', { name: 'Get a key' }).click();
    await page.locator('.next-step.ready').waitFor();
    const own = await keyInUse(page);
    const body = '{"name":"Reader","permissions":["pets:read"]}';
    const { key } = (await execute(page, 'createApiKey', { body })).body;
    await nextStep(page).getByText('Your new key is not in use').waitFor();
    expect(await keyInUse(page)).toBe(own);
    await page.getByRole('button', { name: 'Use the new key' }).click();
    await eventually(async () => (await keyInUse(page)) === key);
  });

  test('says where the reader is, beside the operations and in the title', async () => {
    const { page } = await visit();
    const side = page.getByRole('navigation', { name: 'Operations' });
    await side.getByRole('link', { name: 'List categories' }).click();
    await side.locator('[aria-current]', { hasText: 'List categories' }).waitFor();
    await eventually(async () => (await page.title()) === 'List categories · Pet Store API');
    const marked = side.locator('li', { has: page.locator('.badge.deprecated') }).getByRole('link');
    expect(await marked.last().textContent()).toBe('Fetch an animal');
  });

  test('says of what the service sends what that has, and offers nothing to execute', async () => {
    const webhook = first.page.locator('.operation[id^="/webhooks/"]').first();
    expect(await webhook.textContent()).toMatch(/webhook-signature.*Identifier of the message.*2XX/s);
    expect(await webhook.locator('.try').count()).toBe(0);
  });

  test('shows the Error where no key is given', async () => {
    const { page } = await visit({ on: hosted });
    expect(await execute(page, 'listPets')).toEqual({
      status: 401,
      body: { code: 'missing_api_key', message: expect.any(String), status: 401 },
    });
  });

  test(
    'leads from a new account to a key, and with it through the store',
    async () => {
      const { page, troubles } = await visit({ on: hosted });
      const step = nextStep(page);
      expect(await step.textContent()).toBe('You need an API key.');
      await page.locator('.key-help summary').click();
      await page.locator('.key-help').getByText('Create an account').click();
      expect(await execute(page, 'createAccount', { isOpen: true })).toMatchObject({ status: 201 });
      // The page sends the new email and password, then the new key, without being told.
      expect(await step.textContent()).toBe('Your account is filled in. Next: Create an API key');
      await step.getByText('Create an API key').click();
      const { status, body } = await execute(page, 'createApiKey', { isOpen: true });
      expect(status).toBe(201);
      expect(await step.textContent()).toBe('Your API key is filled in. Next: Add an animal');
      for (const place of [step, panelOf(page, 'createApiKey').locator('.live-responses-table .response')])
        await eventually(() => place.evaluate(isTopInSight));
      // Of their own, as others have added animals to this store.
      const categoryId = (await execute(page, 'createCategory')).body.id;
      const ids: number[] = [];
      for (const name of ['Luna', 'Rex', 'Tux']) {
        const added = { name, categoryId, status: name === 'Rex' ? 'sold' : 'available' };
        const isOpen = name !== 'Luna';
        const made = await execute(page, 'createPet', { isOpen, body: JSON.stringify(added) });
        expect(made).toMatchObject({ status: 201, body: added });
        ids.push(made.body.id);
      }
      const fields = { limit: '1', status: 'available', categoryId: String(categoryId) };
      expect(await execute(page, 'listPets', { fields })).toMatchObject({ body: [{ id: ids[0] }] });
      const [, cursor] = /[?&]cursor=([^&>]+)>; rel="next"/.exec(await headersShown(page, 'listPets'))!;
      expect(await execute(page, 'listPets', { isOpen: true, fields: { cursor: cursor! } })).toMatchObject({
        body: [{ id: ids[2], name: 'Tux', status: 'available' }],
      });
      await panelOf(page, 'listPets').locator('tr[data-param-name=cursor] input').fill('');
      expect(await execute(page, 'listPets', { isOpen: true })).toMatchObject({ body: [{ id: ids[0] }] });
      await panelOf(page, 'listPets').getByRole('button', { name: 'Next page' }).click();
      await panelOf(page, 'listPets').locator('pre.body', { hasText: 'Tux' }).waitFor();
      await panelOf(page, 'listPets')
        .getByRole('button', { name: 'Next page' })
        .waitFor({ state: 'detached' });
      expect(await execute(page, 'getPet', { fields: { petId: String(ids[0]) } })).toMatchObject({
        status: 200,
      });
      const shown = await headersShown(page, 'getPet');
      expect(shown).toMatch(/^deprecation: @\d+$/m);
      expect(shown).toMatch(/^sunset: Thu, ?05 Dec 2030 00:00:00 GMT$/m);
      expect(shown).toMatch(/^link: <\/v1\/pets>; rel="successor-version"$/m);
      expect(await execute(page, 'placeOrder')).toMatchObject({ status: 201, body: { petId: ids[2] } });
      expect(await execute(page, 'submitMessage')).toMatchObject({ status: 202 });
      expect(troubles).toEqual([]);

      const other = await visit({ on: hosted });
      await authorize(other.page, body.key);
      expect(await execute(other.page, 'listPets')).toMatchObject({ status: 200 });
    },
    SLOW,
  );

  test(
    'says how to go on where an email has an account, or a password is wrong',
    async () => {
      const { page } = await visit({ on: hosted });
      expect(await hintsOf(page, 'createApiKey')).toEqual([
        expect.stringContaining('an account: create one'),
      ]);
      expect(await execute(page, 'createAccount')).toMatchObject({ status: 201 });
      expect(await hintsOf(page, 'createApiKey', { isOpen: true })).toEqual([]);
      expect(await execute(page, 'createAccount', { isOpen: true })).toMatchObject({ status: 409 });
      expect(await nextStep(page).textContent()).toMatch(
        /^This email has an account: enter another one, or /,
      );
      const again = await visit({ on: hosted });
      expect(await execute(again.page, 'createAccount')).toMatchObject({ status: 201 });
      await logIn(again.page, '', '');
      expect(await execute(again.page, 'createApiKey')).toMatchObject({ status: 401 });
      expect(await nextStep(again.page).textContent()).toMatch(/^No account has this email and password\. /);
    },
    SLOW,
  );

  test(
    'drops a key that is refused, and remembers one in its tab past a reload',
    async () => {
      const { page } = await visit({ on: hosted });
      await execute(page, 'createAccount');
      await execute(page, 'createApiKey');
      expect((await pressed(page, 'revokeApiKey')).status()).toBe(204);
      expect(await execute(page, 'listPets')).toMatchObject({ status: 401 });
      expect(await nextStep(page).textContent()).toMatch(
        /^The service refused the key.*Next: Create an API key$/,
      );
      const lock = panelOf(page, 'listPets').locator('.credentials');
      expect(await lock.textContent()).toBe('Credentials are missing');
      await page.reload();
      await page.locator('.next-step').waitFor();
      expect(await nextStep(page).textContent()).toMatch(/^You need an API key/);

      await execute(page, 'createAccount');
      const { key } = (await execute(page, 'createApiKey')).body;
      await page.reload();
      await page.locator('.next-step.ready').waitFor();
      expect(await execute(page, 'listPets')).toMatchObject({ status: 200 });
      expect(await lock.textContent()).toBe('Credentials are filled in');
      expect(await page.evaluate('JSON.stringify(sessionStorage)')).toContain(key);
      expect(await page.evaluate('JSON.stringify(localStorage) + document.cookie')).not.toContain(key);
    },
    SLOW,
  );

  test('marks an invalid parameter, says why, and shows no answer of before beside it', async () => {
    const { page } = await visit();
    const panel = panelOf(page, 'listPets');
    expect(await execute(page, 'listPets')).toMatchObject({ status: 200 });
    await panel.locator('tr[data-param-name=limit] input').fill('1000');
    await panel.locator('.execute').click();
    const field = panel.locator('tr[data-param-name=limit] input[aria-invalid=true]');
    await field.waitFor();
    expect(await describedBy(field)).toBe('Value must be less than or equal to 100.');
    expect(await panel.getByRole('alert').textContent()).toContain("For 'limit'");
    expect(await panel.locator('.live-responses-table, .request-url').count()).toBe(0);
    await panel.locator('tr[data-param-name=limit] input').fill('10');
    await panel.locator('.execute').click();
    await panel.locator('.live-responses-table').waitFor();
    expect(await panel.locator('[aria-invalid], .invalid-reason').count()).toBe(0);
  });

  test('marks what the service has refused, and takes the reader to the answer', async () => {
    const { page } = await visit();
    const refused = { fields: { cursor: 'x' } };
    expect(await execute(page, 'listPets', refused)).toMatchObject({ status: 400 });
    const list = panelOf(page, 'listPets');
    expect(await list.locator('[aria-invalid]').count()).toBe(1);
    const cursor = list.locator('tr[data-param-name=cursor] input[aria-invalid=true]');
    expect(await describedBy(cursor)).toMatch(/^The cursor does not come from a Link header/);
    const answer = list.getByRole('group', { name: 'Answer 400' });
    expect(await hrefs(answer.getByRole('link', { name: 'What to do about it' }))).toEqual([
      'guides/errors#invalid_cursor',
    ]);
    expect(await answer.evaluate(isFocused)).toBe(true);
    expect(await headersShown(page, 'listPets')).toMatch(/date: \w{3}, \d/);

    const bad = '{"name":"","categoryId":"x"}';
    expect(await execute(page, 'createPet', { body: bad })).toMatchObject({ status: 400 });
    const pet = panelOf(page, 'createPet');
    const text = await describedBy(pet.locator('textarea[aria-invalid=true]'));
    expect(text).toMatch(/^name must be .+; categoryId must be a 64-bit integer\.$/);
    const body = '{"name":"Rex","categoryId":1}';
    expect(await execute(page, 'createPet', { body, isOpen: true })).toMatchObject({ status: 201 });
    expect(await pet.locator('[aria-invalid], .invalid-reason').count()).toBe(0);
  });

  test('shows a refused log-in itself, without a log-in box of the browser', async () => {
    const { page } = await visit({ on: hosted });
    const boxes = await countLoginBoxes(page);
    await logIn(page, 'nobody@example.com', 'not the password');
    expect(await execute(page, 'createApiKey')).toMatchObject({
      status: 401,
      body: { code: 'invalid_credentials' },
    });
    expect(boxes()).toBe(0);
  });

  test('shows and sends identifiers with all of their digits', async () => {
    const { page } = await visit();
    const [beyond, largest] = ['9007199254740993', '9223372036854775807'];
    const sent: string[] = [];
    await page.route('**/v1/pets**', (route) => {
      sent.push(route.request().postData() ?? route.request().url());
      const body = `{"id":${beyond},"name":"Luna","categoryId":${largest}}`;
      const headers = { 'X-Request-Id': `request-${sent.length}` };
      return route.fulfill({ contentType: 'application/json', headers, body });
    });
    await execute(page, 'getPet', { fields: { petId: beyond } });
    const shown = panelOf(page, 'getPet').locator('pre.body code');
    expect(await shown.textContent()).toBe(
      `{\n  "id": ${beyond},\n  "name": "Luna",\n  "categoryId": ${largest}\n}`,
    );
    const body = `{"name":"Luna","categoryId":${largest}}`;
    await execute(page, 'createPet', { body });
    expect(sent).toEqual([`${service.url}/v1/pets/${beyond}`, body]);
  });

  test('has no filter filled in, so that a list is of everything', async () => {
    const { page } = await visit();
    const panel = panelOf(page, 'listPets');
    await opened(page, 'listPets');
    const row = (name: string) => panel.locator(`tr[data-param-name=${name}]`);
    for (const name of ['categoryId', 'cursor', 'limit'])
      expect(await row(name).locator('input').inputValue()).toBe('');
    expect(await row('categoryId').locator('input').getAttribute('placeholder')).toBe('Example: 2');
    expect(await row('order').locator('select').inputValue()).toBe('');
    await panel.locator('.samples pre:visible', { hasText: /\/v1\/pets \\/ }).waitFor();
  });

  test('shows samples of what its fields hold, with the key masked, which run as they are copied', async () => {
    const { page } = await visit({ permissions: ['clipboard-read', 'clipboard-write'] });
    const panel = await opened(page, 'createPet');
    const name = `O'Brien's "Rex" \\ $HOME \`id\` ü`;
    await panel.locator('textarea').fill(JSON.stringify({ name, categoryId: 3, status: 'sold' }));
    for (const [label, command] of Object.entries(LANGUAGES)) {
      await panel.locator('tr[data-param-name=Idempotency-Key] input').fill(`it's-${label}`);
      await panel.locator('.samples label', { hasText: label }).click();
      const sample = panel.locator('.samples figure:visible');
      await sample
        .locator('pre', { hasText: `it's-${label}` })
        .or(sample.locator('pre', { hasText: `it'\\''s-${label}` }))
        .waitFor();
      await sample.locator('.button').click();
      await sample.locator('.button', { hasText: 'Copied' }).waitFor();
      const shown = await sample.locator('pre').textContent();
      expect(shown).toContain(`Bearer ${demoKey.slice(0, 12)}…`);
      const copied: string = await page.evaluate('navigator.clipboard.readText()');
      expect(copied.replace(demoKey, `${demoKey.slice(0, 12)}…`)).toBe(shown);
      if (label === 'Python' && !hasRequests) continue;
      const { stdout } = await run(...command(copied), { env: { PATH: process.env.PATH } });
      expect(stdout).toMatch(/O.+Brien.+Rex/);
    }
    const { body } = await call(service, 'GET', '/v1/pets?categoryId=3&status=sold', { key: demoKey });
    const made = (body as { name: string }[]).map((pet) => pet.name);
    expect(made).toEqual(Array(hasRequests ? 3 : 2).fill(name));
  });

  test('says that a sample was copied for as long after the second time as after the first', async () => {
    const { page } = await visit({ setsClock: true });
    await page.clock.install();
    const copy = panelOf(page, 'getPet').locator('.samples figure:visible .button');
    await copy.waitFor();
    await page.clock.pauseAt(Date.now() + 60_000);
    for (let times = 0; times < 2; times++) {
      await copy.click();
      await copy.filter({ hasText: 'Copied' }).waitFor();
      await page.clock.runFor(1_500);
      expect(await copy.textContent()).toBe('Copied');
    }
    await page.clock.runFor(600);
    await copy.filter({ hasText: /^Copy$/ }).waitFor();
  });

  test('shows samples with its own address, and what has to be set before they run', async () => {
    const { page } = await visit({ on: hosted });
    const panel = panelOf(page, 'getPet');
    const { operation } = operations.find((one) => one.operation.operationId === 'getPet')!;
    const samples = operation['x-codeSamples'] as { label: string; source: string }[];
    for (const { label, source } of samples) {
      await panel.locator('.samples label', { hasText: label }).click();
      const expected = source.replace('http://localhost:3000', hosted.url);
      expect((await panel.locator('.samples pre:visible').textContent())!.trim()).toBe(expected);
    }
    await opened(page, 'getPet');
    await panel.locator('.needs', { hasText: "Set first: export API_KEY='your API key'." }).waitFor();
    await panel.locator('tr[data-param-name=petId] input').fill('9007199254740993');
    await panel.locator('.samples pre:visible', { hasText: '/v1/pets/9007199254740993"' }).waitFor();
  });

  test('lists every error code with the statuses that it comes with', async () => {
    const rows = await first.page.locator('.tag:has(#errors) tbody tr').allInnerTexts();
    const codes: string[] = document.components.schemas.ErrorCode.anyOf[0].enum;
    expect(rows.map((row) => row.split('\t')[1]!.trim())).toEqual(codes);
    for (const row of rows) expect(row).toMatch(/^[45]\d\d(?: or [45]\d\d)?\s+\w+\s+[A-Z].*\.$/);
    expect(rows.find((row) => row.includes('category_not_found'))).toMatch(/^400 or 404/);
  });

  test('folds up the errors of an operation, each code with its meaning, advice and headers', async () => {
    const errors = panelOf(first.page, 'createPet').locator('.errors');
    expect(await errors.getAttribute('open')).toBeNull();
    await errors.locator('> summary').click();
    const { responses } = operations.find(
      ({ operation }) => operation.operationId === 'createPet',
    )!.operation;
    const all = responses as Record<string, { description: string; headers: object }>;
    const expected = Object.entries(all).filter(([status]) => status >= '400');
    const lines = errors.locator('.codes > li');
    expect(await lines.locator('> b').allTextContents()).toEqual(expected.map(([status]) => status));
    for (const [index, [, { description, headers }]] of expected.entries()) {
      const said = [...description.matchAll(/`(\w+)`: ([^\n]+)/g)];
      for (const [, code, meaning] of said) {
        const line = lines.nth(index).locator('p', { hasText: meaning!.replaceAll('`', '') });
        expect(await hrefs(line.locator('a'))).toEqual([`guides/errors#${code}`]);
      }
      for (const name of Object.keys(headers))
        expect(await errors.locator('.fields').textContent()).toContain(name);
    }
    expect(await lines.first().textContent()).toContain('category_not_found');
    await errors.locator('> summary').click();
  });

  test(
    'goes to what its address names, also where that changes',
    async () => {
      const { page, troubles } = await visit();
      const others: Page[] = [];
      page.context().on('page', (other) => others.push(other));
      const isThere = (place: string) =>
        eventually(() => page.locator(`[id="${place}"]`).evaluate(isTopInSight));
      await page.evaluate("location.hash = '#/store/placeOrder'");
      await isThere('/store/placeOrder');
      await page.evaluate("location.hash = '#/pets/createPet'");
      await isThere('/pets/createPet');
      await page.goBack();
      await isThere('/store/placeOrder');
      await page.getByRole('link', { name: 'every code with its meaning' }).click();
      await isThere('errors');
      expect(others).toEqual([]);
      // Leaving the page would cut off what it still fetches.
      await page.waitForLoadState('networkidle');
      await page.goto(`${service.url}/guides`);
      await page.waitForLoadState('networkidle');
      await page.goto(`${service.url}/docs#errors`);
      await isThere('errors');
      await page.waitForLoadState('networkidle');
      expect(troubles).toEqual([]);
    },
    SLOW,
  );

  test(
    'says so where the service has gone, or a file of the page does not arrive',
    async () => {
      const { page } = await visit();
      await page.route('**/v1/categories*', (route) => route.abort());
      await opened(page, 'listCategories');
      await panelOf(page, 'listCategories').getByRole('button', { name: 'Execute' }).click();
      await panelOf(page, 'listCategories').getByText('is the service still running?').waitFor();
      for (const file of ['swagger-ui-bundle.js', 'panel.js', 'trial.json']) {
        await page.route(`**/${file}`, (route) => route.abort());
        await page.goto('about:blank');
        await page.goto(`${service.url}/docs`);
        await panelOf(page, 'listPets').locator('.try').click();
        await page.getByRole('alert').getByText('could not be loaded').waitFor();
        await page.unroute(`**/${file}`);
      }
      await panelOf(page, 'listPets').locator('.try').click();
      await panelOf(page, 'listPets').locator('.execute').waitFor();
    },
    SLOW,
  );

  test('says everything to a browser without JavaScript: fields, limits, values, answers, errors and samples', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${service.url}/docs#/accounts/createApiKey`);
    const said = async (id: string) => {
      await panelOf(page, id).locator('.errors summary').click();
      return panelOf(page, id).innerText();
    };
    const key = await said('createApiKey');
    expect(key).toMatch(
      /name string required\s+What the key is for\.\s+1 to 255 characters; not only white space\./,
    );
    expect(key).toMatch(/expiresAt string \(date-time\)\s+When the key expires.*\s+In the future\./);
    expect(key).toMatch(
      /networks list of string\s+Where the key may be used from.*\s+1 to 20 items; no two alike; each: An address or a network/,
    );
    expect(key).toMatch(/permissions list of string[^]*orders:manage Approve and deliver/);
    expect(key).toMatch(/409[^]*too_many_api_keys: The account has as many/);
    expect(await said('updateOrder')).toMatch(
      /placed The order holds the animal.*\s+approved The store has agreed/,
    );
    expect(await said('createPet')).toMatch(
      /Next: Fetch an animal[^]*400[^]*category_not_found: The category/,
    );
    const list = await said('listPets');
    expect(list).toMatch(/limit integer in query\s+.*\s+1 to 100\. Default 20\./);
    expect(list).toMatch(/Needs an API key/);
    expect(await page.locator('main').innerText()).not.toMatch(/\\x|\[\^|here\.invalid/);
    const shown = panelOf(page, 'listPets').locator('.samples pre:visible');
    expect(await shown.textContent()).toMatch(/^curl /);
    await panelOf(page, 'listPets').getByText('TypeScript', { exact: true }).first().click();
    expect(await shown.textContent()).toContain('await fetch');
    expect(await page.locator('.try:visible, .next-step:visible').count()).toBe(0);
    await context.close();
  });

  test('is read before Swagger UI has come, which is asked for once somebody tries an operation out', async () => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
    const page = await context.newPage();
    let letCome = () => {};
    const held = new Promise<void>((resolve) => (letCome = resolve));
    await page.route('**/swagger-ui-bundle.js', async (route) => held.then(() => route.continue()));
    await page.goto(`${service.url}/docs`, { waitUntil: 'commit' });
    const links = page.getByRole('navigation', { name: 'Operations' }).getByRole('link');
    await links.getByText('List animals').click();
    await eventually(() => panelOf(page, 'listPets').evaluate(isTopInSight));
    const names = operations.map(({ operation }) => operation.summary);
    expect((await links.allTextContents()).toSorted()).toEqual([...names, 'Error codes'].toSorted());
    await panelOf(page, 'listPets').locator('.try').click();
    await panelOf(page, 'listPets').getByRole('button', { name: 'Opening…' }).waitFor();
    letCome();
    await panelOf(page, 'listPets').getByRole('button', { name: 'Execute' }).waitFor();
    await panelOf(page, 'listPets').getByRole('button', { name: 'Close' }).click();
    await panelOf(page, 'listPets').getByRole('button', { name: 'Execute' }).waitFor({ state: 'hidden' });
    await context.close();
  });

  test('has its operations in a menu on a phone, which closes behind the reader', async () => {
    const { page } = await visit({ viewport: { width: 390, height: 844 } });
    const menu = page.locator('details.menu');
    await menu.getByText('All operations').click();
    for (let time = 0; time < 2; time++) {
      await menu.getByRole('link', { name: 'List categories' }).click();
      await eventually(() => panelOf(page, 'listCategories').evaluate(isTopInSight));
      expect(await menu.getAttribute('open')).toBeNull();
      await page.evaluate('scrollTo(0, 0)');
      await menu.getByText('All operations').click();
    }
    expect(await page.getByRole('navigation', { name: 'Operations' }).isVisible()).toBe(false);
  });

  test('is worked by keyboard alone', async () => {
    const { page } = await visit();
    await panelOf(page, 'listCategories').locator('.try').focus();
    await page.keyboard.press('Enter');
    const button = panelOf(page, 'listCategories').getByRole('button', { name: 'Execute' });
    await button.waitFor();
    for (let i = 0; i < 12 && !(await button.evaluate(isFocused)); i++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await readAnswer(page, 'listCategories')).toMatchObject({ status: 200 });

    const opener = panelOf(page, 'listCategories').getByRole('button', { name: 'Authorize' });
    await opener.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Authorize' });
    await dialog.waitFor();
    // From the last control, a browser goes on to its own, and never to what lies under the dialog.
    for (let i = 0; i < 12; i++) {
      expect(await page.evaluate(isOnPageOutsideDialog)).toBe(false);
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    expect(await opener.evaluate(isFocused)).toBe(true);
    await opener.click();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await opener.evaluate(isFocused)).toBe(true);
  });

  test(
    'is printed in dark on light, without buttons and with all of each line',
    async () => {
      const { page } = first;
      await page.emulateMedia({ media: 'print', colorScheme: 'dark' });
      const panel = panelOf(page, 'createPet');
      expect((await styleOf(page.locator('body'))).backgroundColor).toBe('rgb(251, 250, 247)');
      for (const code of await panel.locator('pre:visible').all()) {
        const { color, backgroundColor, overflowX } = await styleOf(code);
        expect([color, backgroundColor, overflowX]).toEqual(['rgb(0, 0, 0)', 'rgba(0, 0, 0, 0)', 'visible']);
        // The parameters of a link are text alone.
        const inner = code.locator('code');
        const text = (await inner.count()) > 0 ? inner.first() : code;
        expect((await styleOf(text)).whiteSpace).toBe('pre-wrap');
      }
      for (const button of ['Execute', 'Copy', 'Authorize', 'Try it out'])
        expect(await page.getByRole('button', { name: button, exact: true }).count()).toBe(0);
      await page.emulateMedia({ media: 'screen', colorScheme: 'light' });
    },
    SLOW,
  );

  test('tells the chosen language of the samples where the reader chooses the colours', async () => {
    const { page } = first;
    await page.emulateMedia({ forcedColors: 'active' });
    const panel = panelOf(page, 'createPet');
    const [chosen, other] = await Promise.all(
      ['curl', 'Python'].map((label) => styleOf(panel.locator('.samples label span', { hasText: label }))),
    );
    expect(chosen!.backgroundColor).not.toBe(other!.backgroundColor);
    expect((await styleOf(panel.locator('.samples pre:visible'))).borderTopStyle).toBe('solid');
    await page.emulateMedia({ forcedColors: 'none' });
  });

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'has, as the front door, no fault of accessibility in the %s, %d pixels wide, and does not scroll sideways',
    async (colorScheme, width) => {
      const viewport = { width, height: 850 };
      const { page, troubles } = await visit({ colorScheme, viewport, reducedMotion: 'reduce' });
      await expectNoFault(page);
      await execute(page, 'createPet');
      for (const id of ['getPet', 'listPets', 'listApiKeys']) await opened(page, id);
      await panelOf(page, 'listPets').getByRole('button', { name: 'Add integer item' }).click();
      await panelOf(page, 'listPets').getByRole('button', { name: 'Remove' }).waitFor();
      await clickEach(panelOf(page, 'createPet').locator('.errors summary'));
      await expectNoFault(page);
      if (width < 768) await expectFitForFingers(page);
      await openDialog(page);
      await expectNoFault(page);
      await page.keyboard.press('Escape');
      await expectNoFault(page);
      for (const path of ['/', '/guides', ...GUIDES]) {
        await page.goto(service.url + path);
        await page.locator('.search').waitFor();
        await expectNoFault(page);
        if (width < 768 && path.startsWith('/guides/')) {
          await page.locator('.menu summary').click();
          await expectNoFault(page);
        }
      }
      await search(page, 'idempotency');
      await expectNoFault(page);
      expect(troubles).toEqual([]);
      await page.goto(`${service.url}/nowhere/at/all`);
      await expectNoFault(page);
    },
    SLOW,
  );

  test('has samples in its guides with its own address, and copies them', async () => {
    const { page, troubles } = await visit({ permissions: ['clipboard-read', 'clipboard-write'] });
    await page.goto(`${service.url}/guides/first-steps`);
    await page.locator('.copy').first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(`BASE=${service.url}/v1\n\ncurl `);
    expect(troubles).toEqual([]);
  });

  test('finds guides, operations and errors, worked by keyboard alone', async () => {
    const { page, troubles } = await visit();
    await page.goto(`${service.url}/guides/paging`);
    await page.locator('.search').waitFor();
    expect((await search(page, 'webhook'))[0]).toContain('Messages and webhooks');
    await page.keyboard.press('Escape');
    expect(await page.locator('#found').isVisible()).toBe(false);
    await page.locator('.search input').fill('');
    expect((await search(page, 'rate_lim'))[0]).toContain('rate_limited');
    await page.keyboard.press('ArrowDown');
    expect(await page.locator('#found a').first().evaluate(isFocused)).toBe(true);
    await page.keyboard.press('ArrowUp');
    expect(await page.locator('.search input').evaluate(isFocused)).toBe(true);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${service.url}/guides/errors#rate_limited`);
    await search(page, 'createPet');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${service.url}/docs#/pets/createPet`);
    await eventually(() => panelOf(page, 'createPet').evaluate(isTopInSight));
    expect(await search(page, 'xyzzy')).toEqual(['Nothing found']);
    await page.locator('.search input').fill('');
    await search(page, 'placeOrder');
    await page.keyboard.press('Enter');
    await eventually(() => panelOf(page, 'placeOrder').evaluate(isTopInSight));
    expect(troubles).toEqual([]);
  });

  test('shows a guide to a browser without JavaScript, and no search', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${service.url}/guides`);
    await page.locator('.cards').getByRole('link', { name: 'Errors' }).click();
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Errors');
    expect(await page.locator('.search').isVisible()).toBe(false);
    await context.close();
  });
});

const GUIDES = ['first-steps', 'authentication', 'errors', 'messages'].map((name) => `/guides/${name}`);

/** Goes to the search box with `/`, types, and reads what is found. */
async function search(page: Page, words: string): Promise<string[]> {
  await page.locator('body').press('/');
  await page.keyboard.type(words);
  await page.locator('.search [role=status]:not(:empty)').waitFor({ state: 'attached' });
  await page.locator('#found li').first().waitFor();
  return page.locator('#found li').allTextContents();
}

/** Every target is large enough to hit (WCAG 2.2, 2.5.8), and no field so small that a phone zooms in on it. */
async function expectFitForFingers(page: Page): Promise<void> {
  const targets = page
    .locator('.reference')
    .locator('button, select, input:not([type=radio]), textarea, summary');
  const boxes = await targets.evaluateAll((found) =>
    found.map((one) => {
      const { width, height } = one.getBoundingClientRect();
      const size = one.ownerDocument.defaultView!.getComputedStyle(one).fontSize;
      const isField = !['BUTTON', 'SUMMARY'].includes(one.tagName);
      return {
        what: one.outerHTML.slice(0, 80),
        width,
        height,
        size: isField ? Number.parseFloat(size) : 16,
      };
    }),
  );
  const shown = boxes.filter(({ width, height }) => width > 0 && height > 0);
  expect(shown.length).toBeGreaterThan(40);
  expect(shown.filter(({ width, height, size }) => width < 24 || height < 24 || size < 16)).toEqual([]);
}

async function expectNoFault(page: Page): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
  await page.evaluate(AXE);
  const found = await page.evaluate<Fault[]>(
    'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
  );
  expect(
    found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' ')}`),
  ).toEqual([]);
}

interface Fault {
  id: string;
  nodes: { html: string }[];
}

/** Opens the page as a new visitor, one who has opened the start's link if it is that of `service`, and keeps watch over it. */
async function visit({
  on = service,
  at = `${on.url}/docs`,
  setsClock = false,
  ...options
}: BrowserContextOptions & { on?: Service; at?: string; setsClock?: boolean } = {}): Promise<Visit> {
  // The clock is that of all tabs.
  const context = await contextFor(on, options, setsClock);
  const page = await context.newPage();
  page.setDefaultTimeout(SLOW / 3);
  const troubles: string[] = [];
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== on.url)
      troubles.push(`left the service: ${request.url()}`);
  });
  page.on('requestfailed', (request) => troubles.push(`failed: ${request.url()}`));
  page.on('response', (response) => {
    if (response.status() >= 400) troubles.push(`${response.status()}: ${response.url()}`);
  });
  page.on('console', (line) => {
    if (['error', 'warning'].includes(line.type())) troubles.push(`console: ${line.text()}`);
  });
  page.on('pageerror', (error) => troubles.push(`thrown: ${error.message}`));
  try {
    await page.goto(at);
    await page
      .locator('.operation')
      .nth(operations.length - 1)
      .waitFor();
    // With a key, only when that is in use.
    if (on === service) await page.locator('.next-step.ready').waitFor();
  } catch (error) {
    throw new Error(`The page did not open: ${troubles.join('; ') || 'nothing went wrong'}`, {
      cause: error,
    });
  }
  return { page, troubles };
}

/** A browser of its own takes twice the time of another tab, which has the scripts of the page compiled already. */
async function contextFor(
  on: Service,
  options: BrowserContextOptions,
  setsClock: boolean,
): Promise<BrowserContext> {
  const name = JSON.stringify([on.url, options, setsClock]);
  const known = contexts.get(name);
  if (known) return known;
  const context = await browser.newContext(options);
  contexts.set(name, context);
  const credentials = JSON.stringify({ key: demoKey, source: 'link' });
  // The link itself is good once.
  const enter = `sessionStorage.credentials ??= ${JSON.stringify(credentials)}`;
  if (on === service) await context.addInitScript(enter);
  return context;
}

function demoKeyOf(started: Service): string {
  return /Demo key +(\S+)/.exec(started.output())![1]!;
}

/** What the browser's history of a page has, the addresses that were opened among them. */
async function historyOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  return JSON.stringify(await session.send('Page.getNavigationHistory'));
}

/** The key that the page sends. */
async function keyInUse(page: Page): Promise<string | undefined> {
  return page.evaluate("JSON.parse(sessionStorage.credentials ?? '{}').key");
}

function panelOf(page: Page, operationId: string): Locator {
  return page.locator(`.operation[data-id="${operationId}"]`);
}

/** The operation, with its panel open: on a page that several tests use, one of them may have opened it. */
async function opened(page: Page, operationId: string): Promise<Locator> {
  const panel = panelOf(page, operationId);
  if (!(await panel.locator('.execute').isVisible())) await panel.locator('.try').click();
  await panel.locator('.execute').waitFor();
  return panel;
}

/** The line at the top of the page that says what to do next. */
function nextStep(page: Page): Locator {
  return page.locator('.next-step p');
}

/** What the panel of an operation says has to be done first. */
async function hintsOf(page: Page, operationId: string, { isOpen }: Entries = {}): Promise<string[]> {
  const panel = isOpen ? panelOf(page, operationId) : await opened(page, operationId);
  await panel.locator('.execute').waitFor();
  return panel.locator('.hint:visible').allTextContents();
}

async function badgesOf(page: Page, operationId: string): Promise<string[]> {
  return panelOf(page, operationId).locator('.route .badge').allTextContents();
}

interface Entries {
  /** Whether the panel of the operation is open already. */
  isOpen?: boolean;
  /** What to enter for parameters, by their names. */
  fields?: Record<string, string>;
  /** What to enter as the body, in place of the example. */
  body?: string;
}

/** Opens an operation, fills it in, presses Execute, and reads from the page what was answered. */
async function execute(page: Page, operationId: string, { isOpen, fields = {}, body }: Entries = {}) {
  const panel = isOpen ? panelOf(page, operationId) : await opened(page, operationId);
  for (const [name, value] of Object.entries(fields)) {
    const row = panel.locator(`tr[data-param-name="${name}"]`);
    if (await row.locator('select').count()) await row.locator('select').selectOption(value);
    else await row.locator('input').fill(value);
  }
  if (body) await panel.locator('textarea').fill(body);
  const requestId = await (await pressExecute(page, operationId)).headerValue('x-request-id');
  // The answer to an earlier request stays until this one is shown.
  await panel.locator('.live-responses-table .headerline', { hasText: requestId! }).waitFor();
  return readAnswer(page, operationId);
}

/** What a field refers to for what is wrong with it. */
async function describedBy(field: Locator): Promise<string | null> {
  const id = await field.getAttribute('aria-describedby');
  return field.page().locator(`[id="${id}"]`).textContent();
}

/** Opens an operation and presses Execute. */
async function pressed(page: Page, operationId: string): Promise<Response> {
  await opened(page, operationId);
  return pressExecute(page, operationId);
}

async function pressExecute(page: Page, operationId: string): Promise<Response> {
  const { origin } = new URL(page.url());
  const answered = page.waitForResponse((response) => response.url().startsWith(`${origin}/v1/`));
  await panelOf(page, operationId).getByRole('button', { name: 'Execute' }).click();
  return answered;
}

/** The response headers as the page shows them, one a line. */
async function headersShown(page: Page, operationId: string): Promise<string> {
  const lines = panelOf(page, operationId).locator('.live-responses-table .headerline');
  return (await lines.allInnerTexts()).map((line) => line.trim()).join('\n');
}

async function readAnswer(page: Page, operationId: string) {
  const panel = panelOf(page, operationId);
  const answer = panel.locator('.live-responses-table tr.response');
  const status = Number.parseInt((await answer.locator('.response-col_status').textContent())!, 10);
  const body = await answer.locator('pre.body code').textContent();
  return { status, body: JSON.parse(body!) };
}

/** Types the key as soon as the dialog is open, without looking for its field. */
async function authorize(page: Page, key: string): Promise<void> {
  const dialog = await openDialog(page);
  await page.keyboard.insertText(key);
  await dialog.getByRole('button', { name: 'Use' }).click();
}

async function logIn(page: Page, email: string, password: string): Promise<void> {
  const dialog = await openDialog(page);
  await dialog.getByLabel('Email').fill(email);
  await dialog.getByLabel('password').fill(password);
  await dialog.getByRole('button', { name: 'Use' }).click();
}

async function openDialog(page: Page): Promise<Locator> {
  await opened(page, 'listPets');
  await panelOf(page, 'listPets').getByRole('button', { name: 'Authorize' }).click();
  const dialog = page.getByRole('dialog', { name: 'Authorize' });
  await dialog.waitFor();
  return dialog;
}

/** Counts how often the browser wants to ask for a user name and password itself, which no page can look at. */
async function countLoginBoxes(page: Page): Promise<() => number> {
  const session = await page.context().newCDPSession(page);
  let boxes = 0;
  session.on('Fetch.requestPaused', ({ requestId }) => session.send('Fetch.continueRequest', { requestId }));
  session.on('Fetch.authRequired', ({ requestId }) => {
    boxes += 1;
    void session.send('Fetch.continueWithAuth', {
      requestId,
      authChallengeResponse: { response: 'CancelAuth' },
    });
  });
  await session.send('Fetch.enable', { handleAuthRequests: true, patterns: [{ urlPattern: '*/v1/*' }] });
  return () => boxes;
}

async function hrefs(links: Locator): Promise<string[]> {
  return links.evaluateAll((found) => found.map((link) => link.getAttribute('href')!));
}

/** Clicks all of them at once, in the page: one after another takes long where there are hundreds. */
async function clickEach(buttons: Locator): Promise<void> {
  await buttons.evaluateAll((found) => found.forEach((button) => button.click()));
}

/** As much of an element as is looked at; the tests do not have the types of a page. */
interface PageElement {
  ownerDocument: {
    activeElement: PageElement;
    elementFromPoint(x: number, y: number): PageElement | null;
    defaultView: {
      innerHeight: number;
      getComputedStyle(element: PageElement): Record<string, string>;
    };
  };
  contains(other: PageElement): boolean;
  getBoundingClientRect(): { top: number; bottom: number; left: number };
}

/** Runs in the page. */
function lineOf(element: PageElement): string {
  return element.ownerDocument.defaultView.getComputedStyle(element).textDecorationLine!;
}

/** Runs in the page. */
function isFocused(element: PageElement): boolean {
  return element.ownerDocument.activeElement === element;
}

/** Whether the focus is on something that lies under the dialog. */
const isOnPageOutsideDialog = "!document.activeElement.matches('body, .authorizations, .authorizations *')";

/** Runs in the page. */
function isTopInSight(element: PageElement): boolean {
  const { top } = element.getBoundingClientRect();
  return top >= 0 && top < element.ownerDocument.defaultView.innerHeight;
}

/** Runs in the page: whether it is in sight, and nothing lies over it. */
function isUncovered(element: PageElement): boolean {
  const { top, bottom, left } = element.getBoundingClientRect();
  const seen = [top + 2, bottom - 2].map((y) => element.ownerDocument.elementFromPoint(left + 2, y));
  return seen.every((one) => one !== null && element.contains(one));
}

/** As the browser has computed it. */
async function styleOf(locator: Locator): Promise<Record<string, string>> {
  return locator.evaluate((element: PageElement) => {
    const { color, backgroundColor, whiteSpace, overflowX, borderTopStyle } =
      element.ownerDocument.defaultView.getComputedStyle(element);
    return { color, backgroundColor, whiteSpace, overflowX, borderTopStyle } as Record<string, string>;
  });
}
