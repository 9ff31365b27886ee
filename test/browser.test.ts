import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
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

/** Finds faults of accessibility in a page (WCAG); runs there. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let folder: string;
/** On its embedded database, so with a demo key. */
let service: Service;
/** On a database of its own, so without one. */
let hosted: Service;
let browser: Browser;
/** A page that is only looked at; what changes a page has one of its own. */
let first: Visit;

(executablePath ? describe : describe.skip)('Swagger UI', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'petstore-browser-'));
    [service, hosted] = await Promise.all([
      startService({ DATABASE_URL: '', DATA_DIR: folder }),
      startService(),
    ]);
    browser = await chromium.launch({ executablePath, args: ARGS.map((name) => `--${name}`) });
    first = await visit();
  }, SLOW);
  afterAll(async () => {
    await browser?.close();
    await Promise.all([service?.stop(), hosted?.stop()]);
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
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
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

  test('answers the examples as they stand, with the demo key filled in', async () => {
    const { page, troubles } = await visit();
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
    const { page } = await visit({ on: hosted });
    expect(await execute(page, 'listPets')).toEqual({
      status: 401,
      body: { code: 'missing_api_key', message: expect.any(String), status: 401 },
    });
  });

  test('leads from a new account to a key, and with it through the store', async () => {
    const { page, troubles } = await visit({ on: hosted });
    const help = page.locator('.key-help');
    expect(await help.textContent()).toContain('You need an API key');
    await help.getByText('Create an account').click();
    expect(await execute(page, 'createAccount', { isOpen: true })).toMatchObject({ status: 201 });
    // The page sends the new email and password, then the new key, without being told.
    await help.getByText('Create an API key').click();
    const { status, body } = await execute(page, 'createApiKey', { isOpen: true });
    expect(status).toBe(201);
    expect(await help.textContent()).toContain('your API key is filled in');
    for (const name of ['Luna', 'Rex', 'Tux']) {
      const added = { name, categoryId: 2, status: name === 'Rex' ? 'sold' : 'available' };
      const isOpen = name !== 'Luna';
      expect(await execute(page, 'createPet', { isOpen, body: JSON.stringify(added) })).toMatchObject({
        status: 201,
        body: added,
      });
    }
    expect(await execute(page, 'listPets', { fields: { limit: '1', status: 'available' } })).toMatchObject({
      body: [{ id: 1 }],
    });
    const [, cursor] = /[?&]cursor=([^&>]+)>; rel="next"/.exec(await headersShown(page, 'listPets'))!;
    expect(await execute(page, 'listPets', { isOpen: true, fields: { cursor: cursor! } })).toMatchObject({
      body: [{ id: 3, name: 'Tux', status: 'available' }],
    });
    expect(await execute(page, 'getPet', { fields: { petId: '1' } })).toMatchObject({ status: 200 });
    const shown = await headersShown(page, 'getPet');
    expect(shown).toMatch(/^deprecation: @\d+$/m);
    expect(shown).toMatch(/^sunset: Thu, ?05 Dec 2030 00:00:00 GMT$/m);
    expect(shown).toMatch(/^link: <\/v1\/pets>; rel="successor-version"$/m);
    expect(await execute(page, 'placeOrder')).toMatchObject({ status: 201, body: { petId: 1 } });
    expect(await execute(page, 'submitMessage')).toMatchObject({ status: 202 });
    expect(troubles).toEqual([]);

    const other = await visit({ on: hosted });
    await authorize(other.page, body.key);
    expect(await execute(other.page, 'listPets')).toMatchObject({ status: 200 });
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
      return route.fulfill({ contentType: 'application/json', body });
    });
    await execute(page, 'getPet', { fields: { petId: beyond } });
    const shown = panelOf(page, 'getPet').locator('.live-responses-table .highlight-code code').first();
    expect(await shown.textContent()).toBe(
      `{\n  "id": ${beyond},\n  "name": "Luna",\n  "categoryId": ${largest}\n}`,
    );
    const body = `{"name":"Luna","categoryId":${largest}}`;
    await execute(page, 'createPet', { body });
    expect(sent).toEqual([`${service.url}/v1/pets/${beyond}`, body]);
  });

  test('shows code samples with its own address, and copies them', async () => {
    const { page } = await visit({ permissions: ['clipboard-read', 'clipboard-write'] });
    const panel = panelOf(page, 'createPet');
    await panel.locator('.opblock-summary-control').click();
    const { operation } = operations.find((one) => one.operation.operationId === 'createPet')!;
    const samples = operation['x-codeSamples'] as { label: string; source: string }[];
    for (const { label, source } of samples) {
      await panel.locator('.code-samples label', { hasText: label }).click();
      await panel.locator('.code-samples .copy').click();
      await panel.locator('.code-samples .copy', { hasText: 'Copied' }).waitFor();
      const expected = source.replace('http://localhost:3000', service.url);
      expect(await panel.locator('.code-samples pre').textContent()).toBe(expected);
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(expected);
    }
  });

  test('lists every error code with its status', async () => {
    const { page } = first;
    await page.locator('.error-table summary').click();
    const rows = await page.locator('.error-table tbody tr').allInnerTexts();
    const codes: string[] = document.components.schemas.ErrorCode.enum;
    expect(rows.map((row) => row.split('\t')[1]!.trim())).toEqual(codes);
    for (const row of rows) expect(row).toMatch(/^[45]\d\d\s+\w+\s+[A-Z].*\.$/);
  });

  test('is worked by keyboard alone', async () => {
    const { page } = await visit();
    const control = panelOf(page, 'listCategories').locator('.opblock-summary-control');
    await page.locator('#operations-tag-categories button').focus();
    await page.keyboard.press('Tab');
    expect(await control.evaluate(isFocused)).toBe(true);
    await page.keyboard.press('Enter');
    const button = panelOf(page, 'listCategories').getByRole('button', { name: 'Execute' });
    await button.waitFor();
    for (let i = 0; i < 12 && !(await button.evaluate(isFocused)); i++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await readAnswer(page, 'listCategories')).toMatchObject({ status: 200 });
  });

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'has, as the front door, no serious fault of accessibility in the %s, %d pixels wide, and does not scroll sideways',
    async (colorScheme, width) => {
      const { page, troubles } = await visit({ colorScheme, viewport: { width, height: 850 } });
      await execute(page, 'createPet');
      await panelOf(page, 'getPet').locator('.opblock-summary-control').click();
      await panelOf(page, 'getPet').locator('.code-samples').waitFor();
      await expectNoFault(page);
      await page.goto(service.url);
      await page.locator('#base', { hasText: service.url }).waitFor();
      await expectNoFault(page);
      expect(troubles).toEqual([]);
    },
    SLOW,
  );
});

async function expectNoFault(page: Page): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
  await page.evaluate(AXE);
  const found = await page.evaluate<Fault[]>(
    'axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)',
  );
  const faults = found.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  expect(
    faults.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' ')}`),
  ).toEqual([]);
}

interface Fault {
  id: string;
  impact: string;
  nodes: { html: string }[];
}

/** Opens the page as a new visitor, and keeps watch over it. */
async function visit({
  on = service,
  ...options
}: BrowserContextOptions & { on?: Service } = {}): Promise<Visit> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const troubles: string[] = [];
  context.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== on.url)
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
  const help = page.waitForResponse((response) => response.url().endsWith('/demo-key'));
  await page.goto(`${on.url}/docs`);
  await page
    .locator('.opblock')
    .nth(operations.length - 1)
    .waitFor();
  await help;
  // With a demo key, only when that is in use.
  if (on === service) await page.locator('.key-help.ready').waitFor();
  return { page, troubles };
}

function panelOf(page: Page, operationId: string): Locator {
  return page.locator(`.opblock[id$="-${operationId}"]`);
}

async function badgesOf(page: Page, operationId: string): Promise<string[]> {
  return panelOf(page, operationId).locator('.opblock-summary .badge').allTextContents();
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
  const panel = panelOf(page, operationId);
  if (!isOpen) await panel.locator('.opblock-summary-control').click();
  for (const [name, value] of Object.entries(fields)) {
    const row = panel.locator(`tr[data-param-name="${name}"]`);
    if (await row.locator('select').count()) await row.locator('select').selectOption(value);
    else await row.locator('input').fill(value);
  }
  if (body) await panel.locator('textarea').fill(body);
  const { origin } = new URL(page.url());
  const answered = page.waitForResponse((response) => response.url().startsWith(`${origin}/v1/`));
  await panel.getByRole('button', { name: 'Execute' }).click();
  await answered;
  return readAnswer(page, operationId);
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
    defaultView: { getComputedStyle(element: PageElement): { textDecorationLine: string } };
  };
}

/** Runs in the page. */
function lineOf(element: PageElement): string {
  return element.ownerDocument.defaultView.getComputedStyle(element).textDecorationLine;
}

/** Runs in the page. */
function isFocused(element: PageElement): boolean {
  return element.ownerDocument.activeElement === element;
}
