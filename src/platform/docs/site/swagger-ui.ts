import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { Config } from '../../../config.js';
import { ApiError } from '../../api/index.js';
import { StaticContent } from '../../http/index.js';
import { IdentityProvider } from '../../process/index.js';
import { DocumentText } from '../openapi/serve-document.js';
import { type Assets, pageHeaders } from './assets.js';
import { escape } from './markdown.js';
import { Provider, withSignIn } from './provider.js';

/** What our script, `assets/docs.js`, has Swagger UI call; these functions run there. */
declare const petstore: {
  sent<Sent>(request: Sent): Sent;
  answered<Answered>(response: Answered): Answered;
  loaded(): void;
};

const OPTIONS = {
  // Of the keys, nothing is kept: they are gone with the page.
  persistAuthorization: false,
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  filter: true,
  defaultModelsExpandDepth: 0,
  // Would send the document to swagger.io.
  validatorUrl: 'none',
  // Empty, so that the document is fetched: compressed, and kept by the browser.
  spec: {},
  requestInterceptor: (request: object) => petstore.sent(request),
  responseInterceptor: (response: object) => petstore.answered(response),
  onComplete: () => petstore.loaded(),
};

/** Hashes of the inline styles of the page, which no option leaves out; a test finds one that is missing. */
const STYLES = [
  "'sha256-/jDKvbQ8cdux+c5epDIqkjHbXDaIY8RucT1PmAe8FG4='",
  "'sha256-eaPyLWVdqMc60xuz5bTp2yBRgVpQSoUggte1+40ONPU='",
  // Of the logo, which Swagger UI's own script makes.
  "'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='",
  // Lets the next one count for an attribute.
  "'unsafe-hashes'",
  "'sha256-ezdv1bOGcoOD7FKudKN0Y2Mb763O6qVtM8LT2mtanIU='",
];

/** All that the page takes from Swagger UI's package, served compressed. */
const FILES = ['swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js', 'swagger-ui.css'];

/** Swagger UI as it comes, at `/docs`, with a style sheet and a script of ours. */
export function serveSwaggerUi(
  app: NestExpressApplication,
  config: Config,
  document: () => OpenAPIObject,
  { assets, title }: { assets: Assets; title: string },
): void {
  const { httpAdapter } = app.get(HttpAdapterHost);
  const provider =
    config.OIDC_CLIENT_ID === undefined ? undefined : new Provider(config, app.get(IdentityProvider));
  httpAdapter.get('/docs', async (request: Request, response: Response, next?: Function) => {
    if (request.path.endsWith('/')) return response.redirect(308, '../docs');
    const needs = { called: await provider?.called(), styles: STYLES, opensWindows: Boolean(provider) };
    response.set({ ...pageHeaders(config, needs), 'Cache-Control': 'no-store' });
    next!();
  });
  httpAdapter.get('/docs/index.html', (_request: Request, response: Response) =>
    response.redirect(308, '../docs'),
  );
  const serveFile = (path: string, name: string, headers = {}) => {
    const file = fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`));
    const content = new StaticContent(extname(name), () => readFile(file));
    httpAdapter.get(path, (request: Request, response: Response) =>
      content.send(request, response.set(headers), 'no-cache'),
    );
  };
  for (const name of FILES) serveFile(`/docs/${name}`, name);
  if (provider) {
    // Where Swagger UI has the provider send its reader back to. The window is of no use to it without its opener.
    const { 'Cross-Origin-Opener-Policy': _ours, ...headers } = pageHeaders(config);
    for (const name of ['oauth2-redirect.html', 'oauth2-redirect.js']) serveFile(`/${name}`, name, headers);
  }
  if (config.OIDC_ISSUER) serveWithSignIn(httpAdapter, document, provider);
  // `SwaggerModule` would serve the whole package, with what it says of itself.
  const others = new Set(readdirSync(dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist')))));
  app.use('/docs', ({ path }: Request, _response: Response, next: Function) => {
    if (others.has(path.slice(1))) throw new ApiError('route_not_found');
    next();
  });
  // In the place of the document, which is fetched by `swaggerUrl`.
  const nothing = { openapi: '3.1.0', info: { title, version: '' }, paths: {} };
  SwaggerModule.setup('docs', app, nothing, {
    raw: false,
    swaggerUrl: config.OIDC_ISSUER ? 'docs/openapi.json' : 'openapi.json',
    // Which `SwaggerModule` writes as it stands.
    customSiteTitle: `Swagger UI · ${escape(title)}`,
    customfavIcon: assets.addressOf('favicon.svg'),
    customCssUrl: assets.addressOf('docs.css'),
    customJs: assets.addressOf('docs.js'),
    swaggerOptions: { ...OPTIONS, ...(provider ? { initOAuth: provider.options() } : {}) },
  });
}

/** The document of the page where there is an identity provider. */
function serveWithSignIn(
  httpAdapter: HttpAdapterHost['httpAdapter'],
  document: () => OpenAPIObject,
  provider?: Provider,
): void {
  // By what is known of the provider, which changes hardly ever.
  const texts = new Map<string, DocumentText>();
  httpAdapter.get('/docs/openapi.json', async (request: Request, response: Response) => {
    const flow = await provider?.flow();
    const about = JSON.stringify(flow ?? {});
    if (!texts.has(about)) {
      texts.clear();
      texts.set(about, new DocumentText('json', () => JSON.stringify(withSignIn(document(), flow))));
    }
    return texts.get(about)!.send(request, response);
  });
}
