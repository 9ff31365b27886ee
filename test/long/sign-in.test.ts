import type { Browser, Page } from 'playwright-core';
import { call, expectError } from '../../src/testing/client.js';
import { type Service, sharedService, startService } from '../../src/testing/service.js';
import { executablePath } from '../support/chromium.js';
import { AUDIENCE } from '../support/issuer.js';
import { endRuns, eventually, Run } from '../support/npm.js';
import { freePorts } from '../support/ports.js';
import { execute, keptBy, openBrowser, pressSignIn, signedIn, visit } from '../support/swagger-ui.js';
import { storedOf } from '../support/stored.js';

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
  await eventually(() => fetch(`${issuer}/.well-known/openid-configuration`).then(Boolean, () => false));
  if (executablePath) browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await service.stop();
  endRuns();
});

function startProvider(): Run {
  return new Run(process.execPath, ['test/long/packages/provider.js'], {
    ISSUER: issuer,
    AUDIENCE,
    REDIRECT_URI: `${service.url}/oauth2-redirect.html`,
  });
}

test('The policy of the page lets it ask the issuer, and nothing else has changed', async () => {
  const plain = sharedService();
  const [{ headers }, other] = await Promise.all([
    call(service, 'GET', '/docs'),
    call(plain, 'GET', '/docs'),
  ]);
  const policy = other.headers.get('content-security-policy')!;
  expect(headers.get('content-security-policy')).toBe(
    policy.replace("connect-src 'self'", `connect-src 'self' ${issuer}`),
  );
  // It answers the window that has opened it, so it has no policy against that.
  const moved = await call(service, 'GET', '/oauth2-redirect.html?code=x');
  expect([moved.status, moved.headers.get('location')]).toEqual([302, 'docs/oauth2-redirect.html?code=x']);
  const back = await call(service, 'GET', '/docs/oauth2-redirect.html?code=x');
  expect([back.status, back.text.includes('oauth2-redirect.js')]).toEqual([200, true]);
  expect(back.headers.get('content-security-policy')).toBe(headers.get('content-security-policy'));
  expect(back.headers.get('cross-origin-opener-policy')).toBeNull();
  expect(headers.get('cross-origin-opener-policy')).toBe('same-origin-allow-popups');
  expectError(await call(plain, 'GET', '/oauth2-redirect.html'), 404, 'route_not_found');
});

(executablePath ? describe : describe.skip)('Swagger UI', () => {
  test('signs in with PKCE at the page of the provider; the token is in its memory alone', async () => {
    const { page, troubles } = await visit(browser, `${service.url}/docs`);
    const popup = await pressSignIn(page);
    const asked = new URL(popup.url());
    expect(asked.origin).toBe(issuer);
    await logIn(popup, 'ada');
    await signedIn(page);
    const [status, sent] = await execute(page, 'listPets');
    expect(status).toBe(200);
    const text = sent!.replace(/^Bearer /, '');
    expect(text.split('.')).toHaveLength(3);
    expect(await keptBy(page)).not.toContain(text.slice(-40));
    for (const part of text.split('.')) expect(service.output()).not.toContain(part);
    expect(await storedOf(service, text.split('.'))).toEqual([]);
    expect(service.output()).not.toMatch(/code=|state=/);
    expect(troubles).toEqual([]);
    await page.reload();
    await page.locator('.opblock').first().waitFor();
    expect(await execute(page, 'listPets')).toEqual([401, undefined]);
  });
});

/** On the pages of the provider: who it is, and that the page may act for them. */
async function logIn(popup: Page, name: string): Promise<void> {
  await popup.locator('input[name=login]').fill(name);
  await popup.locator('input[name=password]').fill('any');
  await popup.locator('button[type=submit]').click();
  await popup.getByRole('button', { name: 'Continue' }).click();
}
