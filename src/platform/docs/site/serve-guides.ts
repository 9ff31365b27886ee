import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Express, NextFunction, Request, Response } from 'express';
import type { Config } from '../../../config.js';
import { StaticContent } from '../../server/index.js';
import { Assets, type Page } from './assets.js';
import { guidePage, guidesPage } from './guide-pages.js';
import { type Guide, readGuides } from './guides.js';
import { linksTo, operationsOf } from './operation-links.js';
import { pageHeaders } from './page-headers.js';
import { searchIndex } from './search-index.js';

/** Serves the guides, and what the search box finds, each of which is made when it is first asked for. */
export function serveGuides(
  app: NestExpressApplication,
  config: Config,
  document: () => OpenAPIObject,
): void {
  const { intro, guides } = readGuides();
  const assets = app.get(Assets);
  const express: Express = app.getHttpAdapter().getInstance();
  const serve = (path: string, make: () => Page) => {
    const root = '../'.repeat(path.split('/').length - 2);
    const content = new StaticContent('html', () => Buffer.from(assets.inShell(make(), root)));
    express.get(path, withoutSlash, (request, response) =>
      content.send(request, response.set(pageHeaders(config)), 'no-store'),
    );
  };
  serve('/guides', () => guidesPage(intro, guides));
  for (const guide of guides)
    serve(`/guides/${guide.name}`, () => guidePage(guide, guides, linksTo(operationsOf(document()))));
  serveSearch(express, guides, document);
}

function serveSearch(express: Express, guides: readonly Guide[], document: () => OpenAPIObject): void {
  const write = () => JSON.stringify(searchIndex(guides, operationsOf(document())));
  const content = new StaticContent('json', () => Buffer.from(write()));
  express.get('/search.json', (request, response) => content.send(request, response, 'no-cache'));
}

/** The files of a page are found relative to it, so that it also stands behind a proxy that adds a prefix. */
export function withoutSlash({ path }: Request, response: Response, next: NextFunction): void {
  if (!path.endsWith('/')) return next();
  response.redirect(308, `../${path.split('/').at(-2)}`);
}
