import type { Browser, Page } from 'playwright-core';
import { call, expectError } from '../../src/testing/client.js';
import { type Service, sharedService, startService } from '../../src/testing/service.js';
import { executablePath } from '../support/chromium.js';
import { AUDIENCE } from '../support/issuer.js';
import { endRuns, eventually, Run } from '../support/npm.js';
import { freePorts } from '../support/ports.js';
import { execute, keptBy, openBrowser, pressSignIn, read, signedIn } from '../support/signing-in.js';
import { storedOf } from '../support/stored.js';

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
  await eventually(async () => (await schemeIn(service)).type === 'oauth2');
  if (executablePath) browser = await openBrowser();
}, SLOW);
afterAll(async () => {
  await browser?.close();
  await service.stop();
  endRuns();
});

/** What the page is told of the scheme of access tokens. */
async function schemeIn(of: Service) {
  const { body } = await call(of, 'GET', '/docs/openapi.json');
  return body.components.securitySchemes.openIdConnect;
}

function startProvider(): Run {
  return new Run(process.execPath, ['test/long/packages/provider.js'], {
    ISSUER: issuer,
    AUDIENCE,
    REDIRECT_URI: `${service.url}/oauth2-redirect.html`,
  });
}

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
  // It answers the window that has opened it, so it has no policy against that.
  const back = await call(service, 'GET', '/oauth2-redirect.html');
  const ofPages = (await call(plain, 'GET', '/')).headers.get('content-security-policy');
  expect([back.status, back.headers.get('content-security-policy')]).toEqual([200, ofPages]);
  expect(back.headers.get('cross-origin-opener-policy')).toBeNull();
  expect(headers.get('cross-origin-opener-policy')).toBe('same-origin-allow-popups');
  for (const path of ['/oauth2-redirect.html', '/docs/openapi.json'])
    expectError(await call(plain, 'GET', path), 404, 'route_not_found');
});

test('While the provider is down, the page accepts a pasted token, and the document stays the same', async () => {
  const away = await startService({
    OIDC_ISSUER: 'http://127.0.0.1:9/',
    OIDC_AUDIENCE: AUDIENCE,
    OIDC_CLIENT_ID: 'the page',
  });
  expect(await schemeIn(away)).toMatchObject({ type: 'http', scheme: 'bearer' });
  const { body } = await call(away, 'GET', '/openapi.json');
  expect(body.components.securitySchemes.openIdConnect.type).toBe('openIdConnect');
  await away.stop();
});

(executablePath ? describe : describe.skip)('Swagger UI', () => {
  test(
    'signs in with PKCE at the page of the provider; the token is in its memory alone',
    async () => {
      const { page, troubles } = await read(browser, service);
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
