import type { Browser, Page } from 'playwright-core';
import { call, expectError } from '../../src/testing/client.js';
import { type Service, sharedService, startService, storedOf } from '../../src/testing/service.js';
import { executablePath } from '../support/chromium.js';
import { AUDIENCE } from '../support/issuer.js';
import { endRuns, eventually, Run } from '../support/npm.js';
import { freePorts } from '../support/ports.js';
import { execute, keptBy, openBrowser, pressSignIn, read } from '../support/signing-in.js';

const SLOW = 240_000;

/** A real provider, with a log-in page of its own. */
let issuer: string;
let service: Service;
let browser: Browser;

beforeAll(async () => {
  const [port] = await freePorts(1);
  issuer = `http://127.0.0.1:${port}`;
  const sign = new URLSearchParams({ scope: 'openid pets:read pets:write', resource: AUDIENCE });
  service = await startService({
    OIDC_ISSUER: issuer,
    OIDC_AUDIENCE: AUDIENCE,
    OIDC_CLIENT_ID: 'the page',
    OIDC_SIGN_IN_QUERY: sign.toString(),
  });
  startProvider();
  await eventually(async () => (await call(service, 'GET', '/docs/sign-in.json')).status === 200);
  if (executablePath) browser = await openBrowser();
}, SLOW);
afterAll(async () => {
  await browser?.close();
  await service.stop();
  endRuns();
});

function startProvider(): Run {
  return new Run(process.execPath, ['test/long/packages/provider.js'], {
    ISSUER: issuer,
    AUDIENCE,
    REDIRECT_URI: `${service.url}/docs/signed-in`,
  });
}

/** Of RFC 6749, 4.4, for the audience that RFC 8707 names. */
async function tokenOfProgram(scope: string): Promise<string> {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { Authorization: `Basic ${btoa('a%20program:its%20secret')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: AUDIENCE, scope }),
  });
  return ((await response.json()) as { access_token: string }).access_token;
}

test('A program with its own credentials does what its scope says', async () => {
  const key = await tokenOfProgram('pets:read');
  expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
  expectError(await call(service, 'POST', '/v1/pets', { key, body: {} }), 403, 'permission_denied');
  expect((await call(service, 'GET', '/v1/accounts/current', { key })).body.permissions).toContain(
    'pets:write',
  );
});

test('The policy of the page lets it ask the token endpoint, and nothing else has changed', async () => {
  const plain = sharedService();
  const [{ headers }, other] = await Promise.all([
    call(service, 'GET', '/docs'),
    call(plain, 'GET', '/docs'),
  ]);
  const policy = other.headers.get('content-security-policy')!;
  expect(headers.get('content-security-policy')).toBe(
    policy.replace("connect-src 'self'", `connect-src 'self' ${issuer}/token`),
  );
  const back = await call(service, 'GET', '/docs/signed-in');
  expect([back.status, back.headers.get('content-security-policy')]).toEqual([200, policy]);
  for (const path of ['/docs/signed-in', '/docs/sign-in.json'])
    expectError(await call(plain, 'GET', path), 404, 'route_not_found');
});

(executablePath ? describe : describe.skip)('The page at /docs', () => {
  test(
    'signs in with PKCE at the page of the provider; the token is in its memory alone',
    async () => {
      const { page, troubles } = await read(browser, service);
      const popup = await pressSignIn(page);
      expect(new URL(popup.url()).origin).toBe(issuer);
      await logIn(popup, 'ada');
      await page.getByText('You are signed in as ada@example.com').waitFor();
      const [status, sent] = await execute(page, 'listPets');
      expect(status).toBe(200);
      const text = sent!.replace(/^Bearer /, '');
      expect(text.split('.')).toHaveLength(3);
      const sample = page.locator('[data-id=listPets] .samples pre:visible');
      await sample.filter({ hasText: `Bearer ${text.slice(0, 12)}…` }).waitFor();
      expect(await keptBy(page)).not.toContain(text.slice(-40));
      for (const part of text.split('.')) expect(service.output()).not.toContain(part);
      expect(await storedOf(service, text.split('.'))).toEqual([]);
      expect(service.output()).not.toMatch(/code=|state=/);
      expect(troubles).toEqual([]);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByText('Or sign in with your company’s account.').waitFor();
      expect(await execute(page, 'listPets')).toEqual([401, undefined]);
      await page.reload();
      await page.getByText('Or sign in with your company’s account.').waitFor();
    },
    SLOW,
  );

  test(
    'says in words what the provider refuses, and takes no answer that is not to its own request',
    async () => {
      const { page } = await read(browser, service);
      const popup = await pressSignIn(page);
      const made = new URL(`${service.url}/docs/signed-in`);
      made.search = new URLSearchParams({
        code: 'x',
        state: 'made-up',
        error_description: 'pwned',
      }).toString();
      const other = await page.context().newPage();
      await other.goto(made.href);
      await other.getByText('You can close this window').waitFor();
      expect(other.url()).toBe(`${service.url}/docs/signed-in`);
      expect(await page.locator('.sign-in').textContent()).toContain('Sign in in the window');
      await popup.getByText('Cancel').click();
      await page.locator('.sign-in.refused').waitFor();
      expect(await page.locator('.sign-in p').textContent()).toBe(
        'The identity provider has let nobody in. End-User aborted interaction',
      );
    },
    SLOW,
  );
});

/** On the pages of the provider: who it is, and that the page may act for them. */
async function logIn(popup: Page, name: string): Promise<void> {
  await popup.locator('input[name=login]').fill(name);
  await popup.locator('input[name=password]').fill('any');
  await popup.locator('button[type=submit]').click();
  await popup.getByRole('button', { name: 'Continue' }).click();
}
