import { type Browser, chromium, type Page } from 'playwright-core';
import type { Service } from '../../src/testing/service.js';
import { executablePath } from './chromium.js';

/** The page at `/docs` in a browser of its own context, and what went wrong on it. */
export interface Reader {
  page: Page;
  troubles: string[];
}

export function openBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args: ['--disable-gpu', '--no-first-run'] });
}

/** Opens the page, once it offers to sign in. */
export async function read(browser: Browser, { url }: Service): Promise<Reader> {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const troubles: string[] = [];
  page.on('console', (line) => {
    if (['error', 'warning'].includes(line.type())) troubles.push(`console: ${line.text()}`);
  });
  page.on('pageerror', (error) => troubles.push(`thrown: ${error.message}`));
  page.on('requestfailed', (request) => troubles.push(`failed: ${request.url()}`));
  await page.goto(`${url}/docs`);
  await page.getByText('Or sign in with your company’s account.').waitFor();
  return { page, troubles };
}

/** Presses the button, and returns the window of the identity provider. */
export async function pressSignIn(page: Page): Promise<Page> {
  const opened = page.context().waitForEvent('page');
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  const popup = await opened;
  await popup.waitForLoadState();
  return popup;
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
  const panel = page.locator(`.operation[data-id="${operationId}"]`);
  const button = panel.getByRole('button', { name: 'Execute' });
  if (!(await button.isVisible())) await panel.locator('.try').click();
  const answered = page.waitForResponse((one) => one.url().startsWith(`${new URL(page.url()).origin}/v1/`));
  await button.click();
  const answer = await answered;
  return [answer.status(), answer.request().headers().authorization];
}
