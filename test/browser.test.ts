import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { document, operations } from './support/contract.js';
import { type Service, startService } from './support/service.js';

const PATHS = [
  process.env.CHROMIUM_PATH,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = PATHS.find((path) => path && existsSync(path));
if (!executablePath)
  console.warn('No Chromium found, so Swagger UI is not tested: name one in CHROMIUM_PATH.');

// What the browser would fetch of its own accord must not pass for a request of the page.
const ARGS = ['disable-gpu', 'disable-quic', 'disable-component-update', 'disable-sync', 'no-first-run'];

// Swagger UI takes half a second of computing for each operation that is opened.
const SLOW = 90_000;

/** A page that is open, and what went wrong on it. */
interface Visit {
  page: Page;
  troubles: string[];
}

let folder: string;
let service: Service;
let browser: Browser;
/** A page that is only looked at; what changes a page has one of its own. */
let first: Visit;

(executablePath ? describe : describe.skip)('Swagger UI', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'petstore-browser-'));
    service = await startService({ DATABASE_URL: '', DATA_DIR: folder });
    browser = await chromium.launch({ executablePath, args: ARGS.map((name) => `--${name}`) });
    first = await visit();
  }, SLOW);
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('opens with nothing from elsewhere, no error and an icon', async () => {
    const { page, troubles } = first;
    await page.waitForLoadState('networkidle');
    expect(await page.title()).toBe('Pet Store API');
    const icons = await hrefs(page.locator('link[rel=icon]'));
    expect(icons.length).toBeGreaterThan(0);
    for (const icon of icons) {
      const response = await fetch(new URL(icon, page.url()));
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/png']);
    }
    expect(troubles).toEqual([]);
  });

  test('links to the document itself, as JSON and as YAML', async () => {
    const { page } = first;
    const links = await hrefs(page.locator('.information-container a[href*=openapi]'));
    expect(links).toEqual(['/openapi.json', '/openapi.yaml']);
    for (const link of links) expect((await fetch(service.url + link)).status).toBe(200);
  });

  test('lists every operation, under accounts, pets, categories, store and messages', async () => {
    const { page } = first;
    const panels = await page.locator('.opblock').evaluateAll((found) => found.map(({ id }) => id));
    const expected = document.tags
      .map(({ name }: { name: string }) => name)
      .flatMap((tag: string) =>
        operations
          .filter(({ operation }) => operation.tags.includes(tag))
          .map(({ operation }) => `operations-${tag}-${operation.operationId}`),
      );
    expect(panels).toEqual(expected);
    expect(panels).toHaveLength(operations.length);
  });

  test('says of production and staging that they are this server, as long as they have no address', async () => {
    const { page } = first;
    expect(await page.locator('#servers option').allTextContents()).toEqual([
      '/v1 - Production (this server)',
      '/v1 - Staging (this server)',
    ]);
  });

  test('strikes getPet out, and no other operation, and tells its last day', async () => {
    const { page } = first;
    expect(await page.locator('.opblock-deprecated').count()).toBe(1);
    const getPet = panelOf(page, 'getPet');
    expect(await getPet.getAttribute('class')).toContain('opblock-deprecated');
    const path = getPet.locator('.opblock-summary-path__deprecated');
    expect(await path.evaluate(lineOf)).toBe('line-through');
    expect(await summaryOf(page, 'getPet')).toContain('2030-12-05');
  });

  test('tells beta and experimental operations from stable ones', async () => {
    const { page } = first;
    const found = new Set<unknown>();
    for (const { operation } of operations) {
      const [mark] = /\b(beta|experimental)\b/.exec(await summaryOf(page, operation.operationId)) ?? [];
      expect(mark).toBe(operation['x-stability']);
      found.add(mark);
    }
    expect(found).toEqual(new Set([undefined, 'beta', 'experimental']));
  });

  test(
    'shows every operation and schema without an error',
    async () => {
      const { page, troubles } = await visit();
      await clickEach(page.locator('.opblock-summary-control'));
      await page
        .locator('.opblock .responses-table')
        .nth(operations.length - 1)
        .waitFor();
      await clickEach(page.locator('.tablinks[data-name=model]'));
      await clickEach(page.locator('section.models .models-control'));
      const schemas = page.locator('section.models article');
      await schemas.first().waitFor();
      expect(await schemas.count()).toBe(Object.keys(document.components.schemas).length);
      expect(await page.locator('body').textContent()).not.toMatch(/could not render|resolver error/i);
      expect(await page.locator('.errors-wrapper').count()).toBe(0);
      expect(troubles).toEqual([]);
    },
    SLOW,
  );

  test('answers the examples as they stand, with the demo key', async () => {
    const { page, troubles } = await visit();
    await authorize(page, demoKey());
    const pet = { id: 1, name: 'Luna', categoryId: 2, status: 'available' };
    expect(await execute(page, 'createPet')).toEqual({ status: 201, body: pet });
    expect(await execute(page, 'listPets')).toEqual({ status: 200, body: [pet] });
    expect(await execute(page, 'placeOrder')).toMatchObject({ status: 201, body: { petId: 1 } });
    expect(await execute(page, 'updateOrder')).toMatchObject({ status: 200, body: { status: 'approved' } });
    expect(await execute(page, 'createCategory')).toMatchObject({ status: 201 });
    expect(await execute(page, 'submitMessage')).toMatchObject({ status: 202, body: { status: 'queued' } });
    expect(troubles).toEqual([]);
  });

  test('shows the Error where no key is given', async () => {
    const { page } = await visit();
    expect(await execute(page, 'listPets')).toEqual({
      status: 401,
      body: { code: 'missing_api_key', message: expect.any(String), status: 401 },
    });
  });

  test('leads from a new account to a key that works', async () => {
    const { page, troubles } = await visit();
    expect(await execute(page, 'createAccount')).toMatchObject({ status: 201 });
    const { email, password } = exampleOf('createAccount');
    await logIn(page, email!, password!);
    const { status, body } = await execute(page, 'createApiKey');
    expect(status).toBe(201);
    await authorize(page, body.key);
    expect(await execute(page, 'listPets')).toMatchObject({ status: 200 });
    expect(troubles).toEqual([]);
  });

  test('shows a refused log-in itself, without a log-in box of the browser', async () => {
    const { page } = await visit();
    const boxes = await countLoginBoxes(page);
    await logIn(page, 'nobody@example.com', 'not the password');
    expect(await execute(page, 'createApiKey')).toMatchObject({
      status: 401,
      body: { code: 'invalid_credentials' },
    });
    expect(boxes()).toBe(0);
  });
});

/** Opens the page as a new visitor, and keeps watch over it. */
async function visit(): Promise<Visit> {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const troubles: string[] = [];
  context.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== service.url)
      troubles.push(`left the service: ${request.url()}`);
  });
  context.on('requestfailed', (request) => troubles.push(`failed: ${request.url()}`));
  context.on('response', (response) => {
    if (response.status() >= 400) troubles.push(`${response.status()}: ${response.url()}`);
  });
  context.on('console', (line) => {
    if (line.type() === 'error') troubles.push(`console: ${line.text()}`);
  });
  page.on('pageerror', (error) => troubles.push(`thrown: ${error.message}`));
  await page.goto(`${service.url}/docs`);
  await page
    .locator('.opblock')
    .nth(operations.length - 1)
    .waitFor();
  return { page, troubles };
}

function panelOf(page: Page, operationId: string): Locator {
  return page.locator(`.opblock[id$="-${operationId}"]`);
}

async function summaryOf(page: Page, operationId: string): Promise<string> {
  return (await panelOf(page, operationId).locator('.opblock-summary-description').textContent())!;
}

/** Opens an operation, presses Execute, and reads from the page what was answered. */
async function execute(page: Page, operationId: string) {
  const panel = panelOf(page, operationId);
  await panel.locator('.opblock-summary-control').click();
  await panel.getByRole('button', { name: 'Execute' }).click();
  const answer = panel.locator('.live-responses-table tr.response');
  const status = Number.parseInt((await answer.locator('.response-col_status').textContent())!, 10);
  const body = await answer.locator('.highlight-code code').first().textContent();
  return { status, body: JSON.parse(body!) };
}

/** Types the key as soon as the dialogue is open, without looking for its field. */
async function authorize(page: Page, key: string): Promise<void> {
  await page.locator('.btn.authorize').first().click();
  await page.locator('#auth-bearer-value').waitFor();
  await page.keyboard.insertText(key);
  await closeDialogue(page, page.locator('form', { has: page.locator('#auth-bearer-value') }));
}

async function logIn(page: Page, email: string, password: string): Promise<void> {
  await page.locator('.btn.authorize').first().click();
  await page.locator('#auth-basic-username').fill(email);
  await page.locator('#auth-basic-password').fill(password);
  await closeDialogue(page, page.locator('form', { has: page.locator('#auth-basic-username') }));
}

async function closeDialogue(page: Page, form: Locator): Promise<void> {
  await form.getByRole('button', { name: 'Apply credentials' }).click();
  // The fields go once their values are taken.
  await form.waitFor({ state: 'hidden' });
  await page.locator('.modal-ux .close-modal').click();
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

function demoKey(): string {
  return /Demo key +(\S+)/.exec(service.output())![1]!;
}

function exampleOf(operationId: string): Record<string, string> {
  const { operation } = operations.find((one) => one.operation.operationId === operationId)!;
  return operation.requestBody!.content['application/json']!.example as Record<string, string>;
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
  ownerDocument: { defaultView: { getComputedStyle(element: PageElement): { textDecorationLine: string } } };
}

/** Runs in the page. */
function lineOf(element: PageElement): string {
  return element.ownerDocument.defaultView.getComputedStyle(element).textDecorationLine;
}
