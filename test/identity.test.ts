import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { exportSPKI, generateKeyPair, importJWK, type JWTPayload } from 'jose';
import { readConfig } from '../src/config.js';
import { warningsOfIssuer } from '../src/load-config.js';
import { type Answer, call, createAccount, createKey, expectError } from '../src/testing/client.js';
import { expectRevoked } from './support/revoked.js';
import { document } from '../src/testing/document.js';
import {
  query,
  type Service,
  sharedService,
  startService,
  type TestedService,
} from '../src/testing/service.js';
import { hasOpenssl, localCertificate } from './support/certificate.js';
import { admin } from './support/commands.js';
import { times, untilServed } from './support/customer.js';
import { AUDIENCE, Issuer } from './support/issuer.js';
import { eventually } from './support/npm.js';
import { storedOf } from './support/stored.js';

/** Beside RS256. */
const ALGORITHMS = ['PS256', 'ES256', 'ES384', 'ES512', 'EdDSA', 'RS512'];

const plain = sharedService();
let issuer: Issuer;
/** Where only subjects get an account. */
let service: Service;

const settings = (of: Issuer) => ({
  DATABASE_URL: plain.databaseUrl,
  ROLE: 'api',
  OIDC_ISSUER: of.url,
  OIDC_AUDIENCE: `other,${AUDIENCE}`,
});

beforeAll(async () => {
  issuer = await Issuer.start();
  for (const alg of ALGORITHMS) await issuer.addKey(alg, alg);
  service = await startService({ ...settings(issuer), SIGN_UP: 'closed', LOG_LEVEL: 'debug' });
});
afterAll(async () => {
  await service.stop();
  await issuer.stop();
});

const ALL = 'openid pets:read pets:write orders:read orders:write';
const list = (key: string, at: TestedService = service) => send(at, 'GET', '/v1/pets?limit=1', { key });
const current = (key: string, at: TestedService = service) =>
  send(at, 'GET', '/v1/accounts/current', { key });
const someone = () => `somebody-${randomUUID()}`;
const tokenOf = (sub: string, scope = ALL, more: JWTPayload = {}) => issuer.token({ sub, scope, ...more });
const now = () => Math.floor(Date.now() / 1000);

/** What must be nowhere but in requests. */
const partsSent = new Set<string>();

async function send(at: TestedService, method: string, path: string, more: { key: string; body?: unknown }) {
  const parts = more.key.split('.').filter((part) => part.length > 12);
  const answer = await call(at, method, path, more);
  const told = answer.text + JSON.stringify([...answer.headers]);
  for (const part of parts) expect(told).not.toContain(part);
  if (at === service) for (const part of parts) partsSent.add(part);
  return answer;
}

function expectInvalid(answer: Answer): void {
  expectError(answer, 401, 'invalid_token');
  expect(answer.headers.get('www-authenticate')).toContain('error="invalid_token"');
}

describe('An access token', () => {
  test('opens the operations whose permissions its claim names, and no others', async () => {
    const aud = ['https://elsewhere.example', AUDIENCE];
    const token = await tokenOf(someone(), 'pets:read nonsense', { aud });
    expect((await list(token)).status).toBe(200);
    const answer = await send(service, 'POST', '/v1/pets', { key: token, body: '{' });
    expect(expectError(answer, 403, 'permission_denied')).toContain('`pets:write`');
    const wanted = /^Bearer .*error="insufficient_scope", scope="pets:write"$/;
    expect(answer.headers.get('www-authenticate')).toMatch(wanted);
  });

  test.each(ALGORITHMS)('may be signed with %s', async (alg) => {
    expect((await list(await issuer.token({ scope: 'pets:read' }, { alg, kid: alg }))).status).toBe(200);
  });

  test('may be a JWT without the type of an access token, but not an ID token; a claim of its kind decides', async () => {
    const sub = someone();
    for (const typ of ['JWT', undefined])
      expect((await list(await issuer.token({ sub, scope: ALL }, { typ }))).status).toBe(200);
    const others = [{ nonce: 'n' }, { at_hash: 'h' }, { scope: undefined, email: 'a@b.example' }];
    // The kind, as Keycloak and Amazon say it.
    const kinds = [{ typ: 'ID' }, { token_use: 'id' }, { typ: 'Refresh' }, { token_use: 'refresh' }];
    for (const claims of [...others, ...kinds])
      expectInvalid(await list(await issuer.token({ sub, scope: ALL, ...claims }, { typ: 'JWT' })));
    for (const claims of [{}, { typ: 'Bearer' }])
      expectInvalid(await list(await issuer.token({ sub, scope: ALL, ...claims }, { typ: 'logout+jwt' })));
    for (const says of [{ typ: 'Bearer' }, { token_use: 'access' }]) {
      const claims = { sub, scope: ALL, nonce: 'n', at_hash: 'h', ...says };
      expect((await list(await issuer.token(claims, { typ: 'JWT' }))).status).toBe(200);
    }
  });

  test.each<[string, JWTPayload]>([
    ['another issuer', { iss: 'https://elsewhere.example' }],
    ['another audience', { aud: 'https://elsewhere.example' }],
    ['no audience', { aud: undefined }],
    ['no end', { exp: undefined }],
    ['an end that has passed', { exp: now() - 61 }],
    ['a beginning that has not come', { nbf: now() + 61 + 300 }],
    ['a time of issue that has not come', { iat: now() + 61 + 300 }],
    ['no subject', { sub: undefined }],
    ['an empty subject', { sub: '' }],
    ['a subject that no database holds', { sub: 'a\0b' }],
    ['half a character as its subject', { sub: 'a\ud800' }],
    ['a subject that is too long', { sub: 'x'.repeat(256) }],
    ['a key that its sender has to prove', { cnf: { jkt: 'x' } }],
    ['more than 8 kB', { more: 'x'.repeat(8_000) }],
  ])('is refused with %s, before its body is looked at', async (_what, claims) => {
    const key = await issuer.token({ scope: ALL, ...claims });
    expectInvalid(await send(service, 'POST', '/v1/pets', { key, body: '{' }));
    expectInvalid(await current(key));
  });

  test('is refused unsigned, with the public key as a secret, or with a key of its sender', async () => {
    const base64 = (text: string) => Buffer.from(text).toString('base64url');
    const claims = (await issuer.token({ scope: ALL })).split('.')[1]!;
    expectInvalid(await list(`${base64('{"alg":"none","typ":"at+jwt"}')}.${claims}.`));
    const known = await importJWK({ ...issuer.keys[0]! }, 'RS256', { extractable: true });
    const publicKey = await exportSPKI(known as never);
    for (const secret of [publicKey, issuer.keys[0]!.n!, JSON.stringify(issuer.keys[0])]) {
      const text = `${base64('{"alg":"HS256","kid":"one","typ":"at+jwt"}')}.${claims}`;
      expectInvalid(await list(`${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`));
    }
    const attacker = await Issuer.start();
    const { privateKey } = await generateKeyPair('RS256');
    const jwk = attacker.keys[0];
    const seen: string[] = [];
    attacker.instead = (request, response) => {
      seen.push(request.url!);
      response.end(JSON.stringify({ keys: attacker.keys }));
    };
    const [jku, x5u] = [`${attacker.url}/keys`, `${attacker.url}/x5u`];
    for (const header of [{ jku }, { x5u }, { jwk }, { kid: '../../keys' }, { kid: jku }, {}])
      expectInvalid(await list(await issuer.token({ scope: ALL }, header, attacker.privateKey)));
    expectInvalid(await list(await issuer.token({ scope: ALL }, {}, privateKey)));
    expect(seen).toEqual([]);
    await attacker.stop();
  });

  test('is distinguished from an API key by its form', async () => {
    expectInvalid(await list('a.b.c'));
    for (const key of ['a.b', 'a.b.c.d', 'petstore_x']) expectError(await list(key), 401, 'invalid_api_key');
    expectError(await current('a.b'), 401, 'invalid_credentials');
  });
});

describe('The account of a subject', () => {
  test('is created once by simultaneous requests, without a password', async () => {
    const sub = someone();
    const email = `${randomUUID()}@example.com`;
    const claims = (n: number) => ({ jti: String(n), email, email_verified: true });
    const tokens = await times(100, (n) => tokenOf(sub, ALL, claims(n)));
    const answers = await times(100, (n) => untilServed(() => current(tokens[n]!)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(answers[0]!.body.email).toBe(email);
    for (const password of ['', 'correct horse battery']) {
      const byPassword = await call(service, 'GET', '/v1/accounts/current', { account: { email, password } });
      expectError(byPassword, 401, 'invalid_credentials');
    }
  });

  test('is found by the subject byte for byte', async () => {
    const sub = someone();
    const subjects = [sub, sub.toUpperCase(), `${sub} `, ` ${sub}`, `${sub}é`, `${sub}e\u0301`];
    const ids = await Promise.all(subjects.map(async (one) => (await current(await tokenOf(one))).body.id));
    expect(new Set(ids).size).toBe(subjects.length);
  });

  test('has an email only if the email is verified and no other account has it', async () => {
    const { email, id } = await createAccount(plain);
    const made = /^[\da-f-]{36}@identity\.invalid$/;
    for (const claims of [
      { email, email_verified: true },
      { email: email.toUpperCase(), email_verified: true },
      { email: 'new@example.com' },
      { email: 'new@example.com', email_verified: 'true' },
      { email: 'not an email', email_verified: true },
      {},
    ]) {
      const { body } = await current(await tokenOf(someone(), ALL, claims));
      expect(body.email).toMatch(made);
      expect(body.id).not.toBe(id);
    }
  });

  test('is created anew after its owner closed it, and stays closed after an operator closed it', async () => {
    const sub = someone();
    const token = await tokenOf(sub);
    const { body } = await current(token);
    const made = await call(service, 'POST', '/v1/api-keys', { key: token, body: { name: 'x' } });
    expect((await list(made.body.key)).status).toBe(200);
    // A client that sends its request again while it waits.
    const close = () => call(service, 'DELETE', '/v1/accounts/current', { key: token });
    const closed = await Promise.all([close(), close(), close()]);
    expect(closed.map(({ status }) => status)).toEqual([204, 204, 204]);
    await expectRevoked(async () => [await list(made.body.key)]);
    const next = await current(token);
    expect(next.status).toBe(200);
    expect(next.body.id).not.toBe(body.id);
    const env = { DATABASE_URL: service.databaseUrl };
    expect(await admin(['accounts', 'close', `${issuer.url} ${sub}`], env)).toMatchObject({ code: 0 });
    await expectRevoked(async () => [await list(token)]);
    expectError(await list(await tokenOf(sub)), 403, 'permission_denied');
  });

  test('is found by operator commands by issuer and subject, and by id', async () => {
    const sub = `${someone()} the 2nd`;
    const { id } = (await current(await tokenOf(sub))).body;
    const env = { DATABASE_URL: plain.databaseUrl };
    const facts = { issuer: issuer.url, subject: sub };
    const listed = JSON.parse((await admin(['accounts', 'list', '--json'], env)).stdout) as { id: number }[];
    expect(listed.find((one) => one.id === id)).toMatchObject(facts);
    const name = `${issuer.url} ${sub}`;
    for (const each of [name, String(id)]) {
      const { stdout } = await admin(['accounts', 'export', each], env);
      expect(stdout).toContain(JSON.stringify(facts).slice(1, -1));
    }
    for (const none of [`${name}x`, `x ${sub}`, '9223372036854775807', '0'])
      expect(await admin(['accounts', 'export', none], env)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('There is no account'),
      });
  });

  test('gets the permissions that an operator sets within a second', async () => {
    const token = await tokenOf(someone());
    const { id } = (await current(token)).body;
    await query(plain.databaseUrl, `UPDATE accounts SET permissions = '{orders:read}' WHERE id = $1`, [id]);
    await expectRevoked(async () => [await list(token)]);
    expectError(await list(token), 403, 'permission_denied');
  });

  test('gets the answers stored for its retries with any of its tokens', async () => {
    const sub = someone();
    const pet = { body: { name: 'Rex', categoryId: 1 }, headers: { 'Idempotency-Key': 'once' } };
    const add = (key: string) => call(service, 'POST', '/v1/pets', { key, ...pet });
    const first = await add(await tokenOf(sub, ALL, { jti: '1' }));
    const second = await add(await tokenOf(sub, ALL, { jti: '2' }));
    expect([first.status, second.text]).toEqual([201, first.text]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect((await add(await tokenOf(someone()))).body.id).not.toBe(first.body.id);
  });

  test('cannot change its email or password: the provider manages them', async () => {
    const token = await tokenOf(someone());
    const change = (body: object) => call(service, 'PATCH', '/v1/accounts/current', { key: token, body });
    for (const body of [{ email: 'x@example.com' }, { password: 'correct horse battery' }])
      expectError(await change(body), 409, 'managed_by_identity_provider');
    expect((await change({ revokeKeys: true })).status).toBe(200);
  });
});

describe('An API key that is made with a token', () => {
  const keys = (key: string, method: string, path = '', body?: unknown) =>
    call(service, method, `/v1/api-keys${path}`, { key, body });

  test('may do no more than the token, and manages no account', async () => {
    const sub = someone();
    const [all, few, none] = [
      await tokenOf(sub),
      await tokenOf(sub, 'pets:read'),
      await tokenOf(sub, 'openid'),
    ];
    const wide = await keys(all, 'POST', '', { name: 'wide' });
    expect(wide.body.permissions.toSorted()).toEqual(ALL.split(' ').slice(1).toSorted());
    const narrow = await keys(few, 'POST', '', { name: 'narrow' });
    expect(narrow.body.permissions).toEqual(['pets:read']);
    const refused = [
      await keys(few, 'POST', '', { name: 'more', permissions: ['pets:write'] }),
      await keys(none, 'POST', '', { name: 'none' }),
      await keys(few, 'PATCH', `/${narrow.body.id}`, { permissions: ['pets:read', 'pets:write'] }),
      await keys(few, 'PATCH', `/${wide.body.id}`, { permissions: ['pets:read'] }),
      await keys(few, 'PATCH', `/${wide.body.id}`, { name: 'mine' }),
      await keys(few, 'POST', `/${wide.body.id}/roll`, {}),
    ];
    for (const answer of refused) {
      expectError(answer, 403, 'permission_denied');
      expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"');
    }
    expect((await keys(few, 'POST', `/${narrow.body.id}/roll`, {})).body.permissions).toEqual(['pets:read']);
    expect((await keys(all, 'PATCH', `/${wide.body.id}`, { name: 'renamed' })).status).toBe(200);
    expectError(await current(wide.body.key), 401, 'invalid_credentials');
    expect((await keys(few, 'DELETE', `/${wide.body.id}`)).status).toBe(204);
    expectError(await keys(all, 'DELETE', '/current'), 403, 'permission_denied');
    expect((await keys(all, 'GET')).body).toHaveLength(1);
  });
});

describe('An instance with other settings', () => {
  let strict: Service;
  /** Reads the claim at a JSON Pointer. */
  let pointed: Service;
  beforeAll(async () => {
    const reads = (OIDC_PERMISSIONS_CLAIM: string) => ({ ...settings(issuer), OIDC_PERMISSIONS_CLAIM });
    const limits = { OIDC_SIGN_UP: 'closed', KEY_LIMIT_PER_MINUTE: '2' };
    strict = await startService({ ...reads('realm_access.roles'), ...limits });
    pointed = await startService(reads('/resource_access/my.client~1~0x/roles'));
  });
  afterAll(() => Promise.all([strict.stop(), pointed.stop()]));

  const MAY_READ = { realm_access: { roles: ['pets:read', 7, 'admin'] } };
  /** A subject that has its account from elsewhere. */
  async function known(): Promise<string> {
    const sub = someone();
    expect((await list(await tokenOf(sub))).status).toBe(200);
    return sub;
  }

  test('lets no unknown subject sign up, reads a claim at a path, and counts the tokens of a subject by account', async () => {
    const sub = await known();
    const ask = async (claims: JWTPayload) =>
      list(await issuer.token({ jti: randomUUID(), ...claims }), strict);
    expectError(await ask({ sub: someone(), ...MAY_READ }), 403, 'sign_up_closed');
    expect((await ask({ sub, ...MAY_READ })).status).toBe(200);
    expectError(await ask({ sub, scope: 'pets:read' }), 403, 'permission_denied');
    expectError(await ask({ sub, ...MAY_READ }), 429, 'rate_limited');
    expect((await ask({ sub: await known(), ...MAY_READ })).status).toBe(200);
  });

  test('reads a claim at a JSON Pointer, for names with dots', async () => {
    const sub = await known();
    const roles = ['pets:read'];
    const ask = async (claims: JWTPayload) => list(await issuer.token({ sub, ...claims }), pointed);
    expect((await ask({ resource_access: { 'my.client/~x': { roles } } })).status).toBe(200);
    const nested = await ask({ resource_access: { my: { 'client/~x': { roles } } } });
    expectError(nested, 403, 'permission_denied');
  });

  test('accepts an access token whose permissions are in a claim that ID tokens share, if its audience is not its client', async () => {
    const sub = await known();
    const ask = async (claims: JWTPayload) =>
      list(await issuer.token({ sub, ...MAY_READ, ...claims }, { typ: 'JWT' }), strict);
    expect((await ask({ azp: 'a program' })).status).toBe(200);
    expect((await ask({ azp: AUDIENCE, scp: 'access' })).status).toBe(200);
    expectInvalid(await ask({}));
    for (const claims of [{ azp: AUDIENCE }, { aud: ['other', AUDIENCE], azp: 'other' }])
      expect(expectError(await ask(claims), 401, 'invalid_token')).toContain(
        'its audience is its client, as in an ID token: register the API apart from the client',
      );
  });
});

/** One after the other, on one instance. */
describe('The issuer', () => {
  const CLAIM = 'https://petstore.example/may';
  let own: Issuer;
  let elsewhere: Issuer;
  let at: Service;
  let token: string;
  const tokenBy = (kid: string, more: JWTPayload = {}) =>
    own.token(
      { exp: now() + 3_000_000, [CLAIM]: 'x pets:read', ...more },
      { kid },
      kid === 'new' ? own.privateKey : undefined,
    );
  /** Ten minutes later. A request that is sent right behind a signal can come before it. */
  async function later(): Promise<void> {
    const from = at.output().length;
    at.process.kill('SIGUSR2');
    await eventually(() => at.output().includes('It is ten minutes later.', from));
  }
  /** Whether, after one of the next ten minutes, a request with a token gets a status. */
  const becomes = (status: number, tokenOf: () => Promise<string> | string) =>
    eventually(async () => {
      await later();
      return (await list(await tokenOf(), at)).status === status;
    });

  beforeAll(async () => {
    own = await Issuer.start();
    token = await tokenBy('one');
    elsewhere = await Issuer.start();
    elsewhere.url = own.url;
    await own.stop();
    const env = { ...settings(own), OIDC_PERMISSIONS_CLAIM: CLAIM };
    at = await startService(env, ['--import=./test/support/later.js', 'dist/src/main.js']);
  });
  afterAll(async () => {
    await at.stop();
    await own.stop();
    await elsewhere.stop();
  });

  async function expectAway(key = token): Promise<void> {
    const begun = Date.now();
    const answer = await list(key, at);
    expectError(answer, 503, 'service_unavailable');
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(Date.now() - begun).toBeLessThan(5_000);
  }

  test('is not needed by a start; while the issuer is down or wrong, requests with tokens get 503', async () => {
    expect((await call(at, 'GET', '/health/ready')).status).toBe(200);
    await expectAway();
    await own.listen();
    let isInside = false;
    const wrong: NonNullable<Issuer['instead']>[] = [
      () => {},
      (_request, response) => void response.writeHead(200).write('{'),
      (_request, response) => {
        const more = () => {
          while (!response.destroyed && response.write('x'.repeat(65_536)));
        };
        response.writeHead(200).on('drain', more);
        more();
      },
      (request, response) =>
        request.url === '/keys'
          ? void response.writeHead(302, { Location: '/inside' }).end()
          : request.url === '/inside'
            ? void response.end(JSON.stringify({ keys: own.keys }), () => (isInside = true))
            : void response.end(JSON.stringify({ issuer: own.url, jwks_uri: `${own.url}/keys` })),
      (_request, response) =>
        void response.end(JSON.stringify({ issuer: 'http://x.example', jwks_uri: `${own.url}/keys` })),
    ];
    for (const answer of wrong) {
      let asked = 0;
      own.instead = (...exchange) => {
        asked++;
        answer(...exchange);
      };
      await eventually(async () => {
        await expectAway();
        return asked > 0;
      });
    }
    expect(isInside).toBe(false);
    own.instead = undefined;
    await eventually(async () => (await list(token, at)).status === 200);
  });

  test('that is away is named in the log with the reason, and its next fetch in Retry-After', async () => {
    const reasons: [string, () => unknown][] = [
      [`${new URL(own.url).host} cannot be reached: ECONNREFUSED ${new URL(own.url).host}`, () => own.stop()],
      [
        `${new URL(own.url).host} cannot be reached: unexpected redirect`,
        async () => {
          own.instead = (_request, response) => void response.writeHead(302, { Location: '/' }).end();
          await own.listen();
        },
      ],
    ];
    for (const [reason, leave] of reasons) {
      await leave();
      const from = at.output().length;
      await later();
      await eventually(async () => {
        const { status, headers } = await list(await tokenBy('new', { jti: randomUUID() }), at);
        expect(status).toBe(503);
        return at.output().slice(from).includes(reason) && Number(headers.get('retry-after')) > 20;
      });
    }
    own.instead = undefined;
    await becomes(200, () => token);
  });

  test('cannot stand in for another issuer: the same subject and email open nothing', async () => {
    const claims = { sub: someone(), email: `${randomUUID()}@example.com`, email_verified: true };
    const first = await current(await issuer.token({ ...claims, scope: ALL }));
    const second = await current(await tokenBy('one', claims), at);
    expect([first.body.email, second.status]).toEqual([claims.email, 200]);
    expect(second.body.id).not.toBe(first.body.id);
    expect(second.body.email).not.toBe(claims.email);
  });

  test('is asked for an unknown signing key at most once in 30 s', async () => {
    await own.addKey('two');
    await later();
    await eventually(async () => (await list(await tokenBy('two'), at)).status === 200);
    const before = own.fetches;
    await own.addKey('unknown to it');
    const askFor = async (kid: string) => {
      const header = Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid }));
      return list(`${header.toString('base64url')}.e30.c2ln`, at);
    };
    for (let i = 0; i < 300; i++) expect((await askFor(randomUUID())).status).toBe(401);
    expect(own.fetches).toBe(before);
    await later();
    await eventually(async () => (await list(await tokenBy('unknown to it'), at)).status === 200);
    for (let i = 0; i < 100; i++) expect((await askFor(randomUUID())).status).toBe(401);
    expect(own.fetches).toBe(before + 1);
  });

  test('withdraws a signing key: its tokens are refused within ten minutes', async () => {
    own.keys = [];
    await own.addKey('three');
    await later();
    await eventually(async () => (await list(token, at)).status === 401);
    expect((await list(await tokenBy('three'), at)).status).toBe(200);
  });

  test('that was away withdraws a signing key: no token of it is accepted ten minutes later', async () => {
    await own.addKey('four');
    await becomes(200, () => tokenBy('four'));
    await own.stop();
    await later();
    expect((await list(await tokenBy('four', { jti: randomUUID() }), at)).status).toBe(200);
    own.keys = [];
    await own.addKey('three');
    await own.listen();
    await later();
    expect((await list(await tokenBy('four', { jti: randomUUID() }), at)).status).toBe(401);
    expect((await list(await tokenBy('three', { jti: randomUUID() }), at)).status).toBe(200);
  });

  test.each<[how: string, leave: () => unknown]>([
    ['says nothing', () => (own.instead = () => {})],
    ['answers 500', () => (own.instead = (_request, response) => void response.writeHead(500).end())],
    ['answers with no keys', () => (own.instead = (_request, response) => void response.end('{"keys":7}'))],
    ['is away', () => own.stop()],
  ])(
    'that %s keeps no token of a known key out, however old the keys are, and others are 503 until it is back',
    async (_how, leave) => {
      const known = await tokenBy('three');
      expect((await list(known, at)).status).toBe(200);
      await leave();
      for (let i = 0; i < 3; i++) {
        await later();
        expect((await list(await tokenBy('three', { jti: randomUUID() }), at)).status).toBe(200);
        await expectAway(await tokenBy('new'));
        expect((await list(known, at)).status).toBe(200);
      }
      own.instead = undefined;
      if (!own.isListening) await own.listen();
      const fresh = randomUUID();
      await own.addKey(fresh);
      // The fetch that still hangs fails, and the service pauses once more.
      await becomes(200, () => tokenBy(fresh));
    },
  );
});

const UNREACHABLE: [what: string, code: string, addressOf: () => Promise<string>][] = [
  ['name is unknown', 'ENOTFOUND', async () => 'https://provider.invalid'],
  ['certificate is of a private authority', 'DEPTH_ZERO_SELF_SIGNED_CERT', privateAddress],
];
test.each(hasOpenssl ? UNREACHABLE : UNREACHABLE.slice(0, 1))(
  'An issuer whose %s is named in the log, with the code %s',
  async (_what, code, addressOf) => {
    const OIDC_ISSUER = await addressOf();
    const at = await startService({ ...settings(issuer), OIDC_ISSUER });
    expectError(await list(await issuer.token(), at), 503, 'service_unavailable');
    const { host } = new URL(OIDC_ISSUER);
    await eventually(() => at.output().includes(`${host} cannot be reached: ${code}`));
    await at.stop();
  },
);

async function privateAddress(): Promise<string> {
  const { folder, key, cert } = localCertificate();
  rmSync(folder, { recursive: true });
  const server = createServer({ key, cert }).listen(0, '127.0.0.1');
  server.unref();
  await once(server, 'listening');
  return `https://localhost:${(server.address() as AddressInfo).port}`;
}

test('Without a provider, the service refuses a token like an unknown API key, and creates no account', async () => {
  const sub = someone();
  expectError(await list(await tokenOf(sub), plain), 401, 'invalid_api_key');
  expectError(await current(await tokenOf(sub), plain), 401, 'invalid_credentials');
  const made = 'SELECT FROM account_identities WHERE subject = $1';
  expect(await query(plain.databaseUrl, made, [sub])).toEqual([]);
});

test('SIGN_UP=closed refuses sign-ups before reading the body, accepts subjects, and leaves accounts as they are', async () => {
  const account = await createAccount(plain);
  const body = { email: `${randomUUID()}@example.com`, password: account.password };
  for (const sent of [body, {}, '{', 'x'.repeat(200_000), account])
    expectError(await call(service, 'POST', '/v1/accounts', { body: sent }), 403, 'sign_up_closed');
  const key = await createKey(service, account);
  for (const each of [key, await tokenOf(someone())]) expect((await list(each)).status).toBe(200);
});

test('The document offers the provider beside every key and password, and omits the provider if none is set', async () => {
  const { body } = await call(service, 'GET', '/openapi.json');
  expect(body.components.securitySchemes.openIdConnect).toMatchObject({
    type: 'openIdConnect',
    openIdConnectUrl: `${issuer.url}/.well-known/openid-configuration`,
  });
  const operations = Object.values(body.paths).flatMap((path) => Object.values(path as object));
  for (const { operationId, security, responses } of operations) {
    const schemes = new Set(security.flatMap((one: object) => Object.keys(one)));
    if (schemes.size === 0) continue;
    expect([operationId, schemes.size, schemes.has('openIdConnect')]).toEqual([operationId, 2, true]);
    expect(responses[401].content['application/json'].examples).toHaveProperty('invalid_token');
    expect(responses[403].content['application/json'].examples).toHaveProperty('sign_up_closed');
    expect(responses[403].description.match(/^`permission_denied`/gm)).toHaveLength(1);
  }
  expect(document.components.securitySchemes).not.toHaveProperty('openIdConnect');
});

test('An invalid setting, or a setting without its counterpart, is refused by name', () => {
  for (const [env, name] of [
    [{ OIDC_ISSUER: 'https://id.example' }, 'OIDC_AUDIENCE'],
    [{ OIDC_AUDIENCE: 'x' }, 'OIDC_ISSUER'],
    [{ OIDC_ISSUER: 'ftp://id.example', OIDC_AUDIENCE: 'x' }, 'OIDC_ISSUER'],
    [{ OIDC_SIGN_UP: 'perhaps' }, 'OIDC_SIGN_UP'],
    [{ OIDC_PERMISSIONS_CLAIM: '/a~2' }, 'OIDC_PERMISSIONS_CLAIM'],
    [{ OIDC_CLIENT_ID: 'x' }, 'OIDC_ISSUER'],
    [{ OIDC_SIGN_IN_QUERY: '=x' }, 'OIDC_SIGN_IN_QUERY'],
    [{ SIGN_UP: 'maybe' }, 'SIGN_UP'],
    [{ ACCOUNT_PERMISSIONS: 'pets:read,pets:fly' }, 'ACCOUNT_PERMISSIONS'],
    [{ ACCOUNT_PERMISSIONS: 'pets:read,pets:read' }, 'ACCOUNT_PERMISSIONS'],
    [{ ACCOUNT_PERMISSIONS: 'pets:read,' }, 'ACCOUNT_PERMISSIONS'],
  ] as [Record<string, string>, string][])
    expect(() => readConfig(env)).toThrow(new RegExp(`Invalid environment: .*${name} must`));
});

test.each([
  ['http://id.example', 1],
  ['http://127.0.0.1.example:8080/realms/x', 1],
  ['https://id.example', 0],
  ['http://127.0.0.9:8080', 0],
  ['http://[::1]:8080/realms/x', 0],
  ['http://localhost', 0],
])('A start with the issuer %s has %i lines of warning', (OIDC_ISSUER, count) => {
  const lines = warningsOfIssuer(readConfig({ OIDC_ISSUER, OIDC_AUDIENCE: 'x' }));
  expect(lines).toHaveLength(count);
  for (const line of lines) expect(line).toMatch(/^OIDC_ISSUER .* http: .*replace its keys.*https/);
});

test('A start warns once of an issuer that an attacker could impersonate, whatever the number of workers', async () => {
  const env = { ...settings(issuer), OIDC_ISSUER: 'http://id.example', WORKERS: '2', METRICS_PORT: '0' };
  const at = await startService(env);
  await at.stop();
  expect(at.output().match(/OIDC_ISSUER/g)).toHaveLength(1);
});

test('Nothing of a token is logged, audited or stored', async () => {
  expect(partsSent.size).toBeGreaterThan(100);
  expect([...partsSent].filter((part) => service.output().includes(part))).toEqual([]);
  expect(await storedOf(service, [...partsSent])).toEqual([]);
});
