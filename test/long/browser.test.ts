import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Locator, type Page } from 'playwright-core';
import { document, operations } from '../../src/testing/document.js';
import { type Service, startService } from '../../src/testing/service.js';
import { executablePath } from '../support/chromium.js';
import { eventually } from '../support/npm.js';
import { freePorts } from '../support/ports.js';
import { blockOf, keptBy, press, sentWith, summaryOf, visit as visitWith } from '../support/swagger-ui.js';

// What the browser would fetch of its own accord must not pass for a request of the page.
const ARGS = [
  ...['disable-gpu', 'force-prefers-reduced-motion', 'disable-smooth-scrolling', 'disable-quic'],
  ...['disable-component-update', 'disable-sync', 'no-first-run'],
];

const SLOW = 240_000;

/** Finds faults of accessibility in a page (WCAG); runs there. */
let axe: string;
let folder: string;
let service: Service;
let browser: Browser;

(executablePath ? describe : describe.skip)('In a browser,', () => {
  beforeAll(async () => {
    axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
    folder = await mkdtemp(join(tmpdir(), 'petstore-browser-'));
    service = await startService({ DATABASE_URL: '', DATA_DIR: join(folder, 'data') });
    browser = await chromium.launch({ executablePath, args: ARGS.map((name) => `--${name}`) });
  });
  afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  describe('Swagger UI', () => {
    test('opens every operation, with nothing from elsewhere and no error', async () => {
      const { page, troubles } = await visit();
      const ids = await page.locator('.opblock').evaluateAll((found) => found.map(({ id }) => id));
      const expected = document.tags
        .map(({ name }: { name: string }) => name)
        .flatMap((tag: string) =>
          operations
            .filter(({ operation }) => operation.tags.includes(tag))
            .map(({ operation }) => `operations-${tag}-${operation.operationId}`),
        );
      // Below them is what the service sends by itself.
      expect(ids.slice(0, expected.length)).toEqual(expected);
      await page
        .locator('.opblock-summary-control')
        .evaluateAll((found) => found.forEach((one) => one.click()));
      await page
        .locator('.execute')
        .nth(operations.length - 1)
        .waitFor({ timeout: SLOW });
      expect(await page.locator('body').textContent()).not.toMatch(/could not render|resolver error/i);
      expect(troubles).toEqual([]);
    });

    test('answers 201 three clicks after nothing: an account and a key are made with the first, and kept in its memory alone', async () => {
      const { page, troubles } = await visit();
      await getKey(page);
      await summaryOf(page, 'createPet').click();
      const answer = await press(page, 'createPet');
      expect([answer.status(), await sentWith(answer)]).toEqual([201, expect.stringMatching(/^Bearer p/)]);
      // The account opens what a key does not.
      const keys: unknown = await (await press(page, 'listApiKeys')).json();
      expect(keys).toMatchObject([{ name: 'For Swagger UI' }]);
      expect(await keptBy(page)).not.toContain('petstore_');
      expect(troubles).toEqual([]);
      await page.reload();
      expect(await sentWith(await press(page, 'listPets'))).toBeUndefined();
    });

    test('gets a key of the server that is chosen', async () => {
      const [PORT] = await freePorts(1);
      const staging = `http://127.0.0.1:${PORT}/v1`;
      const here = await startService({ STAGING_URL: staging });
      const other = await startService({ PORT: String(PORT), CORS_ORIGINS: here.url });
      try {
        const { page } = await visit({ at: `${here.url}/docs` });
        await page.locator('.servers select').selectOption(staging);
        await page.getByRole('button', { name: 'Get a key' }).click();
        await says(page, `A new account at ${staging} and its API key are filled in.`);
        await summaryOf(page, 'listPets').click();
        const answer = await press(page, 'listPets');
        expect([answer.url().startsWith(staging), answer.status()]).toEqual([true, 200]);
        await other.stop();
        await page.getByRole('button', { name: 'Get a key' }).click();
        await says(page, `There was no answer from ${staging}/accounts.`);
      } finally {
        await Promise.all([here.stop(), other.stop()]);
      }
    });

    test('takes the demo key that the start has printed, and nothing of it stays in the browser', async () => {
      const [, key] = /Demo key +(\S+)/.exec(service.output())!;
      const { page, troubles } = await visit();
      await page.locator('.auth-wrapper .authorize').first().click();
      const dialog = page.locator('.auth-container', { hasText: 'bearerAuth' });
      await dialog.locator('input').fill(key!);
      await dialog.getByRole('button', { name: 'Apply credentials' }).click();
      await page.locator('.close-modal').click();
      const answer = await press(page, 'createPet');
      expect([answer.status(), await sentWith(answer)]).toEqual([201, `Bearer ${key}`]);
      expect(await keptBy(page)).not.toContain('petstore_');
      expect(await historyOf(page)).not.toContain(key);
      expect(troubles).toEqual([]);
    });

    test('is worked by keyboard alone, from nothing to a 201', async () => {
      const { page } = await visit();
      await tabTo(page, page.getByRole('button', { name: 'Get a key' }));
      await page.keyboard.press('Enter');
      await says(page, 'its API key are filled in.');
      await tabTo(page, summaryOf(page, 'createPet'));
      await page.keyboard.press('Enter');
      const execution = blockOf(page, 'createPet').getByRole('button', { name: 'Execute' });
      await execution.waitFor();
      await tabTo(page, execution);
      const answered = page.waitForResponse(`${service.url}/v1/pets`);
      await page.keyboard.press('Enter');
      expect((await answered).status()).toBe(201);
    });
  });

  describe('the reference', () => {
    test('leads to each operation in Swagger UI', async () => {
      const { page } = await visit({ at: `${service.url}/reference` });
      const links = await page
        .locator('.try')
        .evaluateAll((found) => found.map((one) => one.getAttribute('href')));
      const places = operations.map(({ operation }) => `${operation.tags[0]}/${operation.operationId}`);
      expect(new Set(links)).toEqual(new Set(places.map((place) => `docs#/${place}`)));
      await page.getByRole('link', { name: 'Try it out: Add an animal' }).click();
      await blockOf(page, 'createPet').getByRole('button', { name: 'Execute' }).waitFor();
    });

    test('says everything without JavaScript: fields, limits, values, answers, errors and samples', async () => {
      const { page } = await visit({ at: `${service.url}/reference`, javaScriptEnabled: false });
      const said = async (id: string) => {
        await articleOf(page, id).locator('.errors summary').click();
        return articleOf(page, id).innerText();
      };
      const key = await said('createApiKey');
      expect(key).toMatch(
        /name string required\s+What the key is for\.\s+1 to 255 characters; not only white space\./,
      );
      expect(key).toMatch(/expiresAt string \(date-time\)\s+When the key expires.*\s+In the future\./);
      expect(key).toMatch(
        /networks list of string\s+Addresses, and networks in CIDR notation.*\s+1 to 20 items; no two alike; each: An address or a network/,
      );
      expect(key).toMatch(/permissions list of string[^]*orders:manage Approve and deliver/);
      expect(key).toMatch(/409[^]*too_many_api_keys: The account/);
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
      const shown = articleOf(page, 'listPets').locator('.samples pre:visible');
      expect(await shown.textContent()).toMatch(/^curl /);
      await articleOf(page, 'listPets').getByText('TypeScript', { exact: true }).click();
      await eventually(async () => (await shown.textContent())!.includes('await fetch'));
    });

    test('can be read within 1.5 s on a slow phone', async () => {
      // What else runs on the machine slows some of the visits; it makes none faster.
      const times: number[] = [];
      for (let i = 0; i < 5; i++) times.push(await timeToRead(`${service.url}/reference`));
      console.log(`The reference is readable after ${times.join(', ')} ms.`);
      expect(Math.min(...times)).toBeLessThan(1_500);
    });
  });

  test.each([
    ['light', 1440],
    ['dark', 390],
  ] as const)(
    'the pages have no fault of accessibility in the %s, %d pixels wide, and do not scroll sideways; the button at /docs has none either',
    async (colorScheme, width) => {
      const viewport = { width, height: 850 };
      const { page, troubles } = await visit({ at: `${service.url}/guides`, colorScheme, viewport });
      const guides = await page
        .locator('.cards a')
        .evaluateAll((found) => found.map((one) => (one as unknown as { pathname: string }).pathname));
      for (const path of ['/', '/guides', '/reference', ...guides]) {
        await page.goto(service.url + path);
        if (path === '/reference') await articleOf(page, 'createPet').locator('.errors summary').click();
        expect([path, await faultsOf(page)]).toEqual([path, []]);
        if (width < 768 && path.startsWith('/guides/')) {
          await page.locator('.menu summary').click();
          expect([path, await faultsOf(page)]).toEqual([path, []]);
        }
      }
      await page.goto(`${service.url}/docs`);
      await getKey(page);
      expect(await faultsOf(page, '[aria-label="API key"]')).toEqual([]);
      expect(troubles).toEqual([]);
    },
  );
});

const visit = ({ at = `${service.url}/docs`, ...options }: BrowserContextOptions & { at?: string } = {}) =>
  visitWith(browser, at, { ...options, mayLeave: false });

async function says(page: Page, text: string): Promise<void> {
  await page.locator('[role=status]', { hasText: text }).waitFor();
}

async function getKey(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Get a key' }).click();
  await says(page, 'its API key are filled in.');
}

function articleOf(page: Page, operationId: string): Locator {
  return page.locator(`.operation[data-id="${operationId}"]`);
}

async function tabTo(page: Page, element: Locator): Promise<void> {
  const isFocused = () => element.evaluate((one: PageElement) => one === one.ownerDocument.activeElement);
  for (let i = 0; i < 200 && !(await isFocused()); i++) await page.keyboard.press('Tab');
  expect(await isFocused()).toBe(true);
}

/** What the browser's history of a page has, the addresses that were opened among them. */
async function historyOf(page: Page): Promise<string> {
  const session = await page.context().newCDPSession(page);
  return JSON.stringify(await session.send('Page.getNavigationHistory'));
}

/** Milliseconds until a page shows its text on a phone with a slow processor (a quarter of this one) and line. */
async function timeToRead(address: string): Promise<number> {
  const context = await browser.newContext({ viewport: { width: 390, height: 850 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await session.send('Network.enable');
  const throughput = 1.6e6 / 8;
  const line = { latency: 150, downloadThroughput: throughput, uploadThroughput: throughput };
  await session.send('Network.emulateNetworkConditions', { offline: false, ...line });
  await page.goto(address);
  const paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime";
  const time = await page.waitForFunction<number>(paint);
  const ms = Math.round(await time.jsonValue());
  await context.close();
  return ms;
}

/** Faults of accessibility in a page, or a part of it, and whether it scrolls sideways. */
async function faultsOf(page: Page, part = 'html'): Promise<string[]> {
  await page.evaluate(axe);
  const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    `axe.run(${JSON.stringify(part)}, { resultTypes: ["violations"] }).then(({ violations }) => violations)`,
  );
  const isWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
  return [
    ...found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' ')}`),
    ...(isWide ? ['scrolls sideways'] : []),
  ];
}

/** As much of an element as is looked at; the tests do not have the types of a page. */
interface PageElement {
  ownerDocument: { activeElement: PageElement };
}
