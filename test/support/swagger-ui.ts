import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
  type Response,
} from 'playwright-core';
import { executablePath } from './chromium.js';

/** Swagger UI prints this for an id field in a list, but shows the field. */
const KNOWN = 'Could not find component: JsonSchema_integer_int64';

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--disable-gpu', '--no-first-run'] });
}

/** An open page, and the errors on it. */
export interface Visit {
  page: Page;
  troubles: string[];
}

/** Opens a page as a new visitor, and notes errors; unless `mayLeave`, also requests to other origins. */
export async function visit(
  browser: Browser,
  at: string,
  { mayLeave = true, ...options }: BrowserContextOptions & { mayLeave?: boolean } = {},
): Promise<Visit> {
  const { origin, pathname } = new URL(at);
  const page = await (await browser.newContext(options)).newPage();
  page.setDefaultTimeout(60_000);
  const troubles: string[] = [];
  page.on('request', (request) => {
    if (!mayLeave && !/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin)
      troubles.push(`left the service: ${request.url()}`);
  });
  page.on('requestfailed', (request) => troubles.push(`failed: ${request.url()}`));
  page.on('response', (response) => {
    if (response.status() >= 400) troubles.push(`${response.status()}: ${response.url()}`);
  });
  page.on('console', (line) => {
    if (['error', 'warning'].includes(line.type()) && line.text() !== KNOWN)
      troubles.push(`console: ${line.text()}`);
  });
  page.on('pageerror', (error) => troubles.push(`thrown: ${error.message}`));
  await page.goto(at);
  if (pathname === '/docs') await page.locator('.opblock').first().waitFor();
  return { page, troubles };
}

/** Swagger UI offers each grant of the identity provider. */
function signIn(page: Page): Locator {
  return page.locator('.auth-container', { hasText: /openIdConnect.*authorization_code/ });
}

/** Presses Authorize; returns the window of the identity provider. */
export async function pressSignIn(page: Page): Promise<Page> {
  await page.locator('.auth-wrapper .authorize').first().click();
  const opened = page.context().waitForEvent('page');
  await signIn(page).getByRole('button', { name: 'Apply given OAuth2 credentials' }).click();
  const popup = await opened;
  await popup.waitForLoadState();
  return popup;
}

/** Waits until Swagger UI has the token, and closes its dialog. */
export async function signedIn(page: Page): Promise<void> {
  await signIn(page).getByRole('button', { name: 'Remove authorization' }).waitFor();
  await page.locator('.close-modal').click();
}

/** All that the browser stores of a visit, apart from the page's memory. */
export async function keptBy(page: Page): Promise<string> {
  return page.evaluate<string>(`(async () => JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state,
    await indexedDB.databases(), await caches.keys(),
  ]))()`);
}

export function blockOf(page: Page, operationId: string): Locator {
  return page.locator(`.opblock[id$="-${operationId}"]`);
}

export function summaryOf(page: Page, operationId: string): Locator {
  return blockOf(page, operationId).locator('.opblock-summary-control');
}

/** Opens an operation if it is closed, and presses Execute. */
export async function press(page: Page, operationId: string): Promise<Response> {
  const block = blockOf(page, operationId);
  const button = block.getByRole('button', { name: 'Execute' });
  if (!(await button.isVisible())) await summaryOf(page, operationId).click();
  await button.waitFor();
  const answered = page.waitForResponse((response) => new URL(response.url()).pathname.startsWith('/v1/'));
  await button.click();
  const answer = await answered;
  // When the page shows the answer, it has processed it.
  const id = (await answer.headerValue('x-request-id'))!;
  await block.locator('.live-responses-table', { hasText: id }).waitFor();
  return answer;
}

export async function sentWith(answer: Response): Promise<string | undefined> {
  return (await answer.request().allHeaders()).authorization;
}

/** Runs an operation on the page; returns the status of the answer, and the credentials that were sent. */
export async function execute(page: Page, operationId: string): Promise<[number, string | undefined]> {
  const answer = await press(page, operationId);
  return [answer.status(), await sentWith(answer)];
}
