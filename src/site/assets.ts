import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { ApiError } from '../common/api-error.js';

const OWN = fileURLToPath(new URL('./assets', import.meta.url));
/** Of the package that Swagger UI comes in, the page needs these, and nobody the others. */
const SWAGGER_UI = ['swagger-ui.css', 'swagger-ui-bundle.js'].map((name) =>
  fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)),
);

interface Asset {
  path: string;
  tag: string;
}

/** The files of the pages, all served from here. */
@Injectable()
export class Assets {
  private readonly files = new Map<string, Asset>();

  constructor() {
    const own = readdirSync(OWN).map((name) => join(OWN, name));
    for (const path of [...own, ...SWAGGER_UI]) {
      const hash = createHash('sha256').update(readFileSync(path)).digest('base64url');
      this.files.set(path.replace(/^.*[/\\]/, ''), { path, tag: `"${hash}"` });
    }
  }

  /** Sends a page, which is always fetched anew. */
  sendPage(name: string, response: Response): void {
    response.sendFile(this.find(name).path, { cacheControl: false, lastModified: false });
  }

  /**
   * Sends a file that a page consists of. A browser keeps it and asks each time whether it is still the same, by its
   * content: the files of a package have no date.
   * @throws ApiError `route_not_found`
   */
  send(name: string, response: Response): void {
    if (name.endsWith('.html')) throw new ApiError('route_not_found');
    const { path, tag } = this.find(name);
    response.set({ 'Cache-Control': 'no-cache', ETag: tag });
    response.sendFile(path, { cacheControl: false, lastModified: false });
  }

  private find(name: string): Asset {
    const asset = this.files.get(name);
    if (!asset) throw new ApiError('route_not_found');
    return asset;
  }
}
