import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Request, Response } from 'express';

// At level 5, Brotli is as fast as gzip, and its output a tenth smaller; level 11 takes 70 times as long for another tenth.
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };

/** Content codings (RFC 9110, 8.4.1), smallest first. */
const CODINGS = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, BROTLI),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes),
  identity: (bytes: Buffer) => bytes,
};
type Coding = keyof typeof CODINGS;

interface Representation {
  body: Buffer;
  tag: string;
}

/** Content that never changes while the process runs. Each coding is made at the first request for it, and cached. */
export class StaticContent {
  private readonly representations = new Map<Coding, Promise<Representation>>();

  constructor(
    /** File name extension, which determines the media type. */
    private readonly extension: string,
    private readonly load: () => Buffer | Promise<Buffer>,
  ) {}

  /**
   * Answers with the smallest coding that the client accepts, or with 304.
   * @param compress false for content that is sent only once
   */
  async send(request: Request, response: Response, cacheControl: string, compress = true): Promise<void> {
    const codings: Coding[] = compress ? ['br', 'gzip'] : [];
    const coding = codings.find((name) => request.acceptsEncodings(name)) ?? 'identity';
    const { body, tag } = await this.representation(coding);
    response.type(this.extension).vary('Accept-Encoding');
    response.set({ 'Cache-Control': cacheControl, ETag: tag });
    if (coding !== 'identity') response.set('Content-Encoding', coding);
    response.send(body);
  }

  private representation(coding: Coding): Promise<Representation> {
    return this.representations.getOrInsertComputed(coding, () => {
      const encoded = this.encode(coding);
      // A failure is not cached.
      void encoded.catch(() => this.representations.delete(coding));
      return encoded;
    });
  }

  private async encode(coding: Coding): Promise<Representation> {
    const body = await CODINGS[coding](await this.load());
    return { body, tag: `"${createHash('sha256').update(body).digest('base64url')}"` };
  }
}
