import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose';

/** The audience of tokens for the API. */
export const AUDIENCE = 'https://petstore.example';

/** An identity provider whose answers, right or wrong, a test decides. */
export class Issuer {
  fetches = 0;
  /** Answers requests instead of the identity provider, if set. */
  instead?: (request: IncomingMessage, response: ServerResponse) => void;
  keys: JWK[] = [];
  url = '';
  private readonly privates = new Map<string, CryptoKey>();
  private readonly server = createServer((request, response) => this.answer(request, response));

  static async start(): Promise<Issuer> {
    const issuer = new Issuer();
    await issuer.addKey('one');
    await issuer.listen(0);
    return issuer;
  }

  async listen(port = Number(new URL(this.url).port)): Promise<void> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get isListening(): boolean {
    return this.server.listening;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  async addKey(kid: string, alg = 'RS256'): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
    this.keys.push({ ...(await exportJWK(publicKey)), kid, alg, use: 'sig' });
    this.privates.set(kid, privateKey);
  }

  /** A valid token, except for the given claims and headers. */
  token(
    claims: JWTPayload = {},
    header: Record<string, unknown> = {},
    key?: CryptoKey | Uint8Array,
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: this.url, aud: AUDIENCE, sub: 'ada', iat: now, exp: now + 600, ...claims };
    const protectedHeader = { alg: 'RS256', kid: 'one', typ: 'at+jwt', ...header };
    return new SignJWT(all)
      .setProtectedHeader(protectedHeader)
      .sign(key ?? this.privates.get(protectedHeader.kid)!);
  }

  get privateKey(): CryptoKey {
    return this.privates.get('one')!;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.url === '/keys') this.fetches++;
    if (this.instead) return this.instead(request, response);
    const about = { issuer: this.url, jwks_uri: `${this.url}/keys` };
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(request.url === '/keys' ? { keys: this.keys } : about));
  }
}
