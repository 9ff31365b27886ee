import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { call, expectError } from '../../../src/testing/client.js';
import { type Service, startService } from '../../../src/testing/service.js';
import { executablePath } from '../../support/chromium.js';
import { AUDIENCE } from '../../support/issuer.js';
import { endRuns, eventually, type Run } from '../../support/npm.js';
import { freePorts } from '../../support/ports.js';
import { execute, keptBy, openBrowser, pressSignIn, signedIn, visit } from '../../support/swagger-ui.js';
import { PAGE, PERSON, PROGRAM, rotateKey, startKeycloak, unpackKeycloak } from './keycloak.js';

const MINUTES = 60_000;
const folder = mkdtempSync(join(tmpdir(), 'petstore-keycloak-'));
const isThere = unpackKeycloak(folder);

let issuer: string;
let service: Service;
let browser: Browser | undefined;
let keycloak: Run;

async function tokensOfProgram(more = {}): Promise<{ access_token: string; id_token: string }> {
  const body = new URLSearchParams({ grant_type: 'client_credentials', ...PROGRAM, ...more });
  const response = await fetch(`${issuer}/protocol/openid-connect/token`, { method: 'POST', body });
  return (await response.json()) as { access_token: string; id_token: string };
}
const tokenOfProgram = async () => (await tokensOfProgram()).access_token;

(isThere ? describe : describe.skip)('Keycloak, with the settings of docs/identity-provider.md', () => {
  beforeAll(async () => {
    const [port] = await freePorts(1);
    issuer = `http://127.0.0.1:${port}/realms/store`;
    service = await startService({
      OIDC_ISSUER: issuer,
      OIDC_AUDIENCE: AUDIENCE,
      OIDC_PERMISSIONS_CLAIM: 'realm_access.roles',
      OIDC_CLIENT_ID: PAGE,
    });
    keycloak = startKeycloak(folder, port!, service.url);
    const isReady = async () => {
      if (keycloak.stdout.includes('ERROR')) throw new Error(keycloak.stdout);
      return fetch(`${issuer}/.well-known/openid-configuration`).then(
        ({ ok }) => ok,
        () => false,
      );
    };
    await eventually(isReady, 9 * MINUTES);
    if (executablePath) browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    endRuns();
    rmSync(folder, { recursive: true, force: true });
  });

  test('A program does what its roles say', async () => {
    const key = await tokenOfProgram();
    expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
    expectError(await call(service, 'POST', '/v1/pets', { key, body: {} }), 403, 'permission_denied');
  });

  test('An ID token is refused', async () => {
    const { id_token: key } = await tokensOfProgram({ scope: 'openid' });
    expectError(await call(service, 'GET', '/v1/pets', { key }), 401, 'invalid_token');
  });

  (executablePath ? test : test.skip)('A person signs in at its page, from the page at /docs', async () => {
    const { page, troubles } = await visit(browser!, `${service.url}/docs`);
    const popup = await pressSignIn(page);
    expect(new URL(popup.url()).origin).toBe(new URL(issuer).origin);
    await popup.locator('#username').fill(PERSON.username);
    await popup.locator('#password').fill(PERSON.password);
    if (process.env.PICTURES) await popup.screenshot({ path: `${process.env.PICTURES}-keycloak.png` });
    await popup.locator('#kc-login').click();
    await signedIn(page);
    const [status, sent] = await execute(page, 'createPet');
    expect(status).toBe(201);
    if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}-docs.png` });
    expect(await keptBy(page)).not.toContain(sent!.slice(-40));
    expect((await execute(page, 'placeOrder'))[0]).toBe(403);
    expect(troubles.filter((one) => !one.includes('403'))).toEqual([]);
  });

  const kidOf = (token: string) =>
    (JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()) as { kid: string }).kid;

  test('A new signing key counts once the service has fetched the keys again, and tokens of the former key stay valid', async () => {
    const before = await tokenOfProgram();
    await rotateKey(new URL(issuer).origin);
    const after = await tokenOfProgram();
    expect(kidOf(after)).not.toBe(kidOf(before));
    // Half a minute after the last fetch.
    await eventually(async () => (await call(service, 'GET', '/v1/pets', { key: after })).status === 200);
    expect((await call(service, 'GET', '/v1/pets', { key: before })).status).toBe(200);
  });

  test('While Keycloak is down, its tokens stay valid', async () => {
    const key = await tokenOfProgram();
    keycloak.signalGroup('SIGTERM');
    await eventually(() =>
      tokenOfProgram().then(
        () => false,
        () => true,
      ),
    );
    for (let i = 0; i < 3; i++) expect((await call(service, 'GET', '/v1/pets', { key })).status).toBe(200);
  });
});
