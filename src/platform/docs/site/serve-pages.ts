import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Config } from '../../../config.js';
import { Features } from '../../features/index.js';
import { StaticContent } from '../../http/index.js';
import { ProductFacts } from '../openapi/document.js';
import { Assets, type WebPage, pageHeaders } from './assets.js';
import { frontDoor } from './front-door.js';
import { guidePage, guidesPage, readGuides } from './guides.js';
import { referencePage } from './reference.js';
import { serveSwaggerUi } from './swagger-ui.js';

/** Links for programs to the descriptions of the API (RFC 8631). */
const LINKS = [
  '</openapi.json>; rel="service-desc"; type="application/json"',
  '</openapi.yaml>; rel="service-desc"; type="text/yaml"',
  '</docs>; rel="service-doc"; type="text/html"',
  '</health/ready>; rel="status"',
];

/** Serves the start page, the guides, the reference and Swagger UI; each page is built on first use. */
export function serveSite(app: NestExpressApplication, config: Config, document: () => OpenAPIObject): void {
  const { httpAdapter } = app.get(HttpAdapterHost);
  const facts = app.get(ProductFacts);
  const assets = new Assets(facts.title);
  const { intro, guides } = readGuides(app.get(Features).guides);

  /** Files have relative addresses, so that a page also works behind a proxy that adds a prefix. */
  const servePage = (path: string, write: () => WebPage, headers = {}): void => {
    const root = '../'.repeat(path.split('/').length - 2);
    const content = new StaticContent('html', () => Buffer.from(assets.inShell(write(), root)));
    httpAdapter.get(path, async (request: Request, response: Response) => {
      if (path !== '/' && request.path.endsWith('/'))
        return response.redirect(308, `../${path.split('/').at(-1)}`);
      await content.send(request, response.set({ ...pageHeaders(config), ...headers }), 'no-store');
    });
  };
  servePage('/', () => frontDoor(facts, document()), { Link: LINKS.join(', ') });
  servePage('/guides', () => guidesPage(intro, guides));
  for (const guide of guides) servePage(`/guides/${guide.name}`, () => guidePage(guide, guides, document()));
  servePage('/reference', () => referencePage(document(), new Set(guides.map(({ name }) => name))));
  serveSwaggerUi(app, config, { assets, title: facts.title });

  httpAdapter.get('/assets/:version/:name', (request: Request, response: Response) => {
    const { version, name } = request.params as { version: string; name: string };
    response.set('Cross-Origin-Resource-Policy', 'same-origin');
    return assets.send(name, request, response, version);
  });
  // Browsers request the icon with every resource that is not a page of this site, such as the OpenAPI document.
  httpAdapter.get('/favicon.ico', (request: Request, response: Response) =>
    assets.send('favicon.svg', request, response),
  );
}
