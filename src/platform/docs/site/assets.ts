import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Request, Response } from 'express';
import type { Config } from '../../../config.js';
import { ApiError } from '../../api/index.js';
import { StaticContent } from '../../http/index.js';
import { escape } from './markdown.js';

const FOLDER = fileURLToPath(new URL('./assets', import.meta.url));

/** The styles of all pages, sent as one file: on a slow line, each further file costs a round trip. */
const STYLES = ['palette.css', 'shapes.css', 'landing.css', 'side.css', 'guides.css', 'reference.css'];

/** A page of the site. In the addresses of its content, `~/` is the root of the site. */
export interface WebPage {
  /** Left out for the start page, whose title is the site's name. */
  readonly title?: string;
  readonly description: string;
  readonly content: string;
}

/** One year: the address of a file changes with its content. */
const FOR_EVER = 'public, max-age=31536000, immutable';

/** The files of the pages, and the shell around each page. */
export class Assets {
  private readonly contents = new Map<string, StaticContent>();
  /** A hash of all files, as part of their addresses: a browser never requests the same file twice. */
  private readonly version: string;

  /** @param site the name of the site */
  constructor(private readonly site: string) {
    const hash = createHash('sha256');
    for (const name of readdirSync(FOLDER).toSorted()) {
      hash.update(read(name));
      if (extname(name) === '.html' || STYLES.includes(name)) continue;
      this.contents.set(name, new StaticContent(extname(name), () => readFile(join(FOLDER, name))));
    }
    this.contents.set('site.css', new StaticContent('css', () => Buffer.from(STYLES.map(read).join('\n'))));
    this.version = hash.digest('hex').slice(0, 16);
  }

  /** The address of a file, relative to the root of the site. */
  addressOf(name: string): string {
    return `assets/${this.version}/${name}`;
  }

  /** Sends a file; with `no-cache` if the page has another version, as during an update. @throws ApiError `route_not_found` */
  send(name: string, request: Request, response: Response, version = ''): Promise<void> {
    const content = this.contents.get(name);
    if (!content) throw new ApiError('route_not_found');
    return content.send(request, response, version === this.version ? FOR_EVER : 'no-cache');
  }

  /** A complete page. @param root the path from the page to the root of the site, such as `../` */
  inShell({ title, description, content }: WebPage, root: string): string {
    const site = escape(this.site);
    const parts: Record<string, string> = {
      title: title ? `${escape(title)} · ${site}` : site,
      ...{ site, description: escape(description), content },
    };
    // Each part replaces the comment that names it.
    return read('page.html')
      .replaceAll(/<!-- (\w+) -->/g, (place, part: string) => parts[part] ?? place)
      .replaceAll('"~/assets/', () => `"${root}${this.addressOf('')}`)
      .replaceAll('"~/"', () => `"${root || './'}"`)
      .replaceAll('"~/', () => `"${root}`);
  }
}

function read(name: string): string {
  return readFileSync(join(FOLDER, name), 'utf8');
}

/**
 * Headers so that a page runs only its own files, connects only to known origins, and is not framed or read by other pages.
 * @param styles sources of further styles (CSP3, 2.3.1)
 * @param issuer the identity provider that the page connects to, and whose pop-up may reach the page
 */
export function pageHeaders(
  { BASE_URL, STAGING_URL, API_URL }: Config,
  styles: readonly string[] = [],
  issuer?: string,
): Record<string, string> {
  const known = [BASE_URL, STAGING_URL, API_URL, issuer];
  const origins = new Set(known.flatMap((url) => (url ? [new URL(url).origin] : [])));
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': ["'self'", ...styles].join(' '),
    // The style sheet of Swagger UI embeds its icons.
    'img-src': "'self' data:",
    'connect-src': ["'self'", ...origins].join(' '),
    'base-uri': "'none'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
  };
  return {
    'Content-Security-Policy': Object.entries(policy)
      .map((directive) => directive.join(' '))
      .join('; '),
    'Cross-Origin-Opener-Policy': issuer ? 'same-origin-allow-popups' : 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
  };
}
