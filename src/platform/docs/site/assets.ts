import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import type { Config } from '../../../config.js';
import { ApiError } from '../../api/index.js';
import { StaticContent } from '../../server/index.js';
import { escape } from './markdown.js';

const OWN = fileURLToPath(new URL('./assets', import.meta.url));
/** The file of Swagger UI's package that the page needs. */
const SWAGGER_UI = fileURLToPath(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js'));
/** Files of others under names of the page's. */
const MORE = [
  ['minisearch.js', fileURLToPath(import.meta.resolve('minisearch'))],
  ['oauth4webapi.js', fileURLToPath(import.meta.resolve('oauth4webapi'))],
  ['call-samples.js', fileURLToPath(new URL('../openapi/call-samples.js', import.meta.url))],
] as const;

/** What all pages look like, in one file: on a slow line each further one is asked for in its turn. */
const STYLES = ['palette.css', 'shapes.css', 'bar.css', 'landing.css', 'side.css', 'guides.css'];

/** What a page of the site is made of. In the addresses of its content, `~/` is the root of the site. */
export interface Page {
  /** Left out by the front door, which is the site itself. */
  readonly title?: string;
  readonly description: string;
  readonly content: string;
  /** What it needs in its head beside what all pages have. */
  readonly head?: string;
}

/** For a year. The address of a file changes with its content. */
const FOR_EVER = 'public, max-age=31536000, immutable';

/** The pages and their files, all served by this service. */
@Injectable()
export class Assets {
  private readonly contents = new Map<string, StaticContent>();
  /** Changes with any of the files. It is part of their addresses, so that a browser never asks for one twice. */
  private readonly version: string;

  constructor() {
    const files = readdirSync(OWN).map((name) => join(OWN, name));
    const hash = createHash('sha256');
    const named = [...files.toSorted(), SWAGGER_UI].map((path) => [basename(path), path] as const);
    for (const [name, path] of [...named, ...MORE]) {
      hash.update(readFileSync(path));
      if (extname(path) === '.html' || STYLES.includes(name)) continue;
      this.contents.set(name, new StaticContent(extname(path), () => readFile(path)));
    }
    this.contents.set('site.css', new StaticContent('css', () => Buffer.from(STYLES.map(own).join('\n'))));
    this.version = hash.digest('hex').slice(0, 16);
  }

  /**
   * Sends a file of a page. A page of another version of the service, which exists during an update, gets the file too,
   * but must not keep it under the address of its own version.
   * @throws ApiError `route_not_found`
   */
  send(name: string, request: Request, response: Response, version = ''): Promise<void> {
    const content = this.contents.get(name);
    if (!content) throw new ApiError('route_not_found');
    return content.send(request, response, version === this.version ? FOR_EVER : 'no-cache');
  }

  /**
   * A page of the site around its content.
   * @param root the way from its address to the root of the site, such as `../`
   */
  inShell({ title, description, content, head = '' }: Page, root: string): string {
    const parts: Record<string, string> = {
      title: title ? `${escape(title)} · Pet Store API` : 'Pet Store API',
      ...{ description: escape(description), content, head, bar: own('bar.html') },
    };
    // Each in the place of a comment that names it.
    const page = own('page.html').replaceAll(
      /<!-- (\w+) -->/g,
      (place, part: string) => parts[part] ?? place,
    );
    return page
      .replaceAll('"~/assets/', () => `"${root}assets/${this.version}/`)
      .replaceAll('"~/"', () => `"${root || './'}"`)
      .replaceAll('"~/', () => `"${root}`);
  }

  /** A part of a page, such as one that others are written around. */
  part(name: string): string {
    return own(name);
  }
}

function own(name: string): string {
  return readFileSync(join(OWN, name), 'utf8');
}

/** RFC 8631: where a program that comes to the front door finds the interface. */
const LINKS = [
  '</openapi.json>; rel="service-desc"; type="application/json"',
  '</openapi.yaml>; rel="service-desc"; type="text/yaml"',
  '</docs>; rel="service-doc"; type="text/html"',
  '</health/ready>; rel="status"',
];

export const FRONT_DOOR = { Link: LINKS.join(', ') };

/**
 * Headers of every page. It runs nothing but its own files, calls nothing but this service, the addresses of the
 * configuration and those of `others`, and no other page may frame it or read it.
 */
export function pageHeaders(
  { BASE_URL, STAGING_URL, API_URL }: Config,
  others: readonly string[] = [],
): Record<string, string> {
  const origins = [BASE_URL, STAGING_URL, API_URL].flatMap((url) => (url ? [new URL(url).origin] : []));
  const called = [...origins, ...others];
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': "'self'",
    // Swagger UI's style sheet has its arrows and crosses in itself.
    'img-src': "'self' data:",
    'connect-src': ["'self'", ...new Set(called)].join(' '),
    'base-uri': "'none'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
  };
  return {
    'Content-Security-Policy': Object.entries(policy)
      .map((directive) => directive.join(' '))
      .join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
  };
}
