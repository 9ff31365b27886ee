import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { Request, Response } from 'express';
import type { Config } from '../../../config.js';
import { ApiError } from '../../api/index.js';
import { StaticContent } from '../../http/index.js';
import { ProductFacts } from '../openapi/document.js';
import { escape } from './markdown.js';

const OWN = fileURLToPath(new URL('./assets', import.meta.url));

/** What all pages look like, in one file: on a slow line each further one is asked for in its turn. */
const STYLES = ['palette.css', 'shapes.css', 'landing.css', 'side.css', 'guides.css'];

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

/** The files of the pages, and what stands around each page. */
@Injectable()
export class Assets {
  private readonly contents = new Map<string, StaticContent>();
  /** Changes with any of the files. It is part of their addresses, so that a browser never asks for one twice. */
  private readonly version: string;

  constructor(private readonly modules: ModuleRef) {
    const hash = createHash('sha256');
    for (const name of readdirSync(OWN).toSorted()) {
      hash.update(own(name));
      if (extname(name) === '.html' || STYLES.includes(name)) continue;
      this.contents.set(name, new StaticContent(extname(name), () => readFile(join(OWN, name))));
    }
    this.contents.set('site.css', new StaticContent('css', () => Buffer.from(STYLES.map(own).join('\n'))));
    this.version = hash.digest('hex').slice(0, 16);
  }

  /** The address of a file, relative to the root of the site. */
  addressOf(name: string): string {
    return `assets/${this.version}/${name}`;
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
    const site = escape(this.modules.get(ProductFacts, { strict: false }).title);
    const parts: Record<string, string> = {
      title: title ? `${escape(title)} · ${site}` : site,
      ...{ site, description: escape(description), content, head },
    };
    // Each in the place of a comment that names it.
    return own('page.html')
      .replaceAll(/<!-- (\w+) -->/g, (place, part: string) => parts[part] ?? place)
      .replaceAll('"~/assets/', () => `"${root}${this.addressOf('')}`)
      .replaceAll('"~/"', () => `"${root || './'}"`)
      .replaceAll('"~/', () => `"${root}`);
  }
}

function own(name: string): string {
  return readFileSync(join(OWN, name), 'utf8');
}

/** What a page may do beside what every page may. */
interface PageNeeds {
  /** Sources (CSP3, 2.3.1) that it calls. */
  readonly called?: readonly string[];
  /** Hashes of its inline styles. */
  readonly styles?: readonly string[];
  /** Whether a window that it opens may answer it. */
  readonly opensWindows?: boolean;
}

/**
 * Headers of every page. It runs nothing but its own files, calls nothing but this service, the addresses of the
 * configuration and what it needs beside, and no other page may frame it or read it.
 */
export function pageHeaders(
  { BASE_URL, STAGING_URL, API_URL }: Config,
  { called = [], styles = [], opensWindows = false }: PageNeeds = {},
): Record<string, string> {
  const origins = [BASE_URL, STAGING_URL, API_URL].flatMap((url) => (url ? [new URL(url).origin] : []));
  const policy = {
    'default-src': "'none'",
    'script-src': "'self'",
    'style-src': ["'self'", ...styles].join(' '),
    // Swagger UI's style sheet has its arrows and crosses in itself.
    'img-src': "'self' data:",
    'connect-src': ["'self'", ...new Set([...origins, ...called])].join(' '),
    'base-uri': "'none'",
    'form-action': "'self'",
    'frame-ancestors': "'none'",
  };
  return {
    'Content-Security-Policy': Object.entries(policy)
      .map((directive) => directive.join(' '))
      .join('; '),
    'Cross-Origin-Opener-Policy': opensWindows ? 'same-origin-allow-popups' : 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
  };
}
