import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import type { Service } from '../../src/testing/service.js';
import { executablePath } from './chromium.js';

/** Swagger UI in a browser of its own context, and what went wrong on it. */
export interface Reader {
  page: Page;
  troubles: string[];
}

/** Swagger UI says so of the field of an id in a list, and shows one. */
export const KNOWN = 'Could not find component: JsonSchema_integer_int64';

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--disable-gpu', '--no-first-run'] });
}

export async function read(browser: Browser, { url }: Service): Promise<Reader> {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const troubles: string[] = [];
  page.on('console', (line) => {
    if (['error', 'warning'].includes(line.type()) && line.text() !== KNOWN)
      troubles.push(`console: ${line.text()}`);
  });
  page.on('pageerror', (error) => troubles.push(`thrown: ${error.message}`));
  page.on('requestfailed', (request) => troubles.push(`failed: ${request.url()}`));
  await page.goto(`${url}/docs`);
  await page.locator('.opblock').first().waitFor();
  return { page, troubles };
}

/** The part of Swagger UI's dialog for the identity provider. */
export async function openDialog(page: Page): Promise<Locator> {
  await page.locator('.auth-wrapper .authorize').first().click();
  return signIn(page);
}

/** Swagger UI offers each grant of the identity provider. */
function signIn(page: Page): Locator {
  return page.locator('.auth-container', { hasText: /openIdConnect.*authorization_code/ });
}

/** Asks for scopes and presses Authorize; returns the window of the identity provider. */
export async function pressSignIn(page: Page, scopes: string[] = []): Promise<Page> {
  const dialog = await openDialog(page);
  for (const scope of scopes) {
    const box = dialog.locator(`input[data-value="${scope}"]`);
    if (!(await box.isChecked()))
      await dialog.locator(`label[for="${await box.getAttribute('id')}"]`).click();
  }
  const opened = page.context().waitForEvent('page');
  await dialog.getByRole('button', { name: 'Apply given OAuth2 credentials' }).click();
  const popup = await opened;
  await popup.waitForLoadState();
  return popup;
}

/** Waits until Swagger UI has the token, and closes its dialog. */
export async function signedIn(page: Page): Promise<void> {
  await signIn(page).getByRole('button', { name: 'Remove authorization' }).waitFor();
  await page.locator('.close-modal').click();
}

/** All that the browser has of a visit beside the memory of its page. */
export async function keptBy(page: Page): Promise<string> {
  return page.evaluate<string>(`(async () => JSON.stringify([
    { ...localStorage }, { ...sessionStorage }, document.cookie, location.href, history.state,
    await indexedDB.databases(), await caches.keys(),
  ]))()`);
}

/** Runs an operation on the page; returns the status of the answer, and the credentials that were sent. */
export async function execute(page: Page, operationId: string): Promise<[number, string | undefined]> {
  const block = page.locator(`.opblock[id$="-${operationId}"]`);
  const button = block.getByRole('button', { name: 'Execute' });
  if (!(await button.isVisible())) await block.locator('.opblock-summary-control').click();
  const answered = page.waitForResponse((one) => one.url().startsWith(`${new URL(page.url()).origin}/v1/`));
  await button.click();
  const answer = await answered;
  return [answer.status(), (await answer.request().allHeaders()).authorization];
}
