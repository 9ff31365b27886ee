import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AUDIENCE } from '../../support/issuer.js';
import { Run } from '../../support/npm.js';

const VERSION = '26.2.5';
const ARTIFACT = `org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`;

/** Unpacks Keycloak into a folder, out of Maven Central if Maven has not kept it; false without Java, Maven or a network. */
export function unpackKeycloak(folder: string): boolean {
  const unpack = ['-q', '-B', 'dependency:unpack', `-Dartifact=${ARTIFACT}`, `-DoutputDirectory=${folder}`];
  // Maven leaves markers in the folder that it runs in.
  const options = { cwd: folder, stdio: 'pipe', timeout: 8 * 60_000 } as const;
  try {
    execFileSync('java', ['-version'], options);
    execFileSync('mvn', unpack, options);
    return true;
  } catch (error) {
    console.warn(`Keycloak is not tested: it needs Java 17, Maven and ${ARTIFACT}. ${String(error)}`);
    return false;
  }
}

/** A realm with a program, the page at `/docs`, and a person; what each may do are roles of the realm. */
export const PERSON = { username: 'grace', password: 'correct horse battery', email: 'grace@example.com' };
export const PROGRAM = { client_id: 'a-program', client_secret: 'its-secret' };
export const PAGE = 'petstore-docs';

const ADMIN = { username: 'admin', password: 'correct horse battery' };

/** Has the realm sign with a new key from now on; its former keys stay in the JWKS. */
export async function rotateKey(origin: string): Promise<void> {
  const form = { grant_type: 'password', client_id: 'admin-cli', ...ADMIN };
  const token = await fetch(`${origin}/realms/master/protocol/openid-connect/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  const { access_token } = (await token.json()) as { access_token: string };
  const made = await fetch(`${origin}/admin/realms/store/components`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${access_token}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      name: 'the next key',
      providerId: 'rsa-generated',
      providerType: 'org.keycloak.keys.KeyProvider',
      config: { priority: ['200'] },
    }),
  });
  if (made.status !== 201) throw new Error(`Keycloak answers ${made.status}: ${await made.text()}`);
}

const audience = {
  name: 'the store',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-audience-mapper',
  config: { 'included.custom.audience': AUDIENCE, 'access.token.claim': 'true' },
};

const realm = (site: string) => ({
  realm: 'store',
  enabled: true,
  sslRequired: 'none',
  roles: { realm: [{ name: 'pets:read' }, { name: 'pets:write' }] },
  clients: [
    {
      clientId: PROGRAM.client_id,
      secret: PROGRAM.client_secret,
      serviceAccountsEnabled: true,
      standardFlowEnabled: false,
      protocolMappers: [audience],
    },
    {
      clientId: PAGE,
      publicClient: true,
      redirectUris: [`${site}/oauth2-redirect.html`],
      webOrigins: [site],
      attributes: { 'pkce.code.challenge.method': 'S256' },
      protocolMappers: [audience],
    },
  ],
  users: [
    {
      username: PERSON.username,
      email: PERSON.email,
      emailVerified: true,
      firstName: 'Grace',
      lastName: 'Hopper',
      enabled: true,
      credentials: [{ type: 'password', value: PERSON.password }],
      realmRoles: ['pets:read', 'pets:write'],
    },
    {
      username: `service-account-${PROGRAM.client_id}`,
      serviceAccountClientId: PROGRAM.client_id,
      enabled: true,
      realmRoles: ['pets:read'],
    },
  ],
});

/** Starts it in a folder that it was unpacked into; `site` is where the service is. */
export function startKeycloak(folder: string, port: number, site: string): Run {
  const home = join(folder, `keycloak-${VERSION}`);
  mkdirSync(join(home, 'data/import'), { recursive: true });
  writeFileSync(join(home, 'data/import/store-realm.json'), JSON.stringify(realm(site)));
  const options = ['--import-realm', '--http-host=127.0.0.1', `--http-port=${port}`, '--cache=local'];
  return new Run('bash', [join(home, 'bin/kc.sh'), 'start-dev', ...options], {
    JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
    KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username,
    KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password,
  });
}
