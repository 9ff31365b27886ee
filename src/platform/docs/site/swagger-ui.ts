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
import { DocumentText } from '../openapi/serve-document.js';
import { type Assets, pageHeaders } from './assets.js';
import { escape } from './markdown.js';
import { Provider, withSignIn } from './provider.js';

/** The script `assets/docs.js`, whose functions Swagger UI calls in the browser. */
declare const petstore: {
  sent<Sent>(request: Sent): Sent;
  answered<Answered>(response: Answered): Answered;
  loaded(): void;
};

const OPTIONS = {
  // Keys are gone with the page.
  persistAuthorization: false,
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  filter: true,
  defaultModelsExpandDepth: 0,
  // The default would send the document to swagger.io.
  validatorUrl: 'none',
  // Empty, so that the browser fetches the document: compressed and cached.
  spec: {},
  requestInterceptor: (request: object) => petstore.sent(request),
  responseInterceptor: (response: object) => petstore.answered(response),
  onComplete: () => petstore.loaded(),
};

/** Hashes of the inline styles of the page, which no option removes; a test finds a missing one. */
const STYLES = [
  "'sha256-/jDKvbQ8cdux+c5epDIqkjHbXDaIY8RucT1PmAe8FG4='",
  "'sha256-eaPyLWVdqMc60xuz5bTp2yBRgVpQSoUggte1+40ONPU='",
  // The logo, made by the script of Swagger UI.
  "'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='",
  // Applies the next hash to an attribute.
  "'unsafe-hashes'",
  "'sha256-ezdv1bOGcoOD7FKudKN0Y2Mb763O6qVtM8LT2mtanIU='",
];

/** The files of the package of Swagger UI that the page uses, served compressed. */
const FILES = ['swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js', 'swagger-ui.css'];

/** Serves the unmodified Swagger UI at `/docs`, with a style sheet and a script of this service. */
export function serveSwaggerUi(
  app: NestExpressApplication,
  config: Config,
  document: () => OpenAPIObject,
  { assets, title }: { assets: Assets; title: string },
): void {
  const { httpAdapter } = app.get(HttpAdapterHost);
  const provider = config.OIDC_CLIENT_ID === undefined ? undefined : new Provider(config);
  httpAdapter.get('/docs', async (request: Request, response: Response, next?: Function) => {
    if (request.path.endsWith('/')) return response.redirect(308, '../docs');
    const needs = {
      connectsTo: await provider?.connectsTo(),
      styles: STYLES,
      opensWindows: Boolean(provider),
    };
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
    // The redirect URI of Swagger UI. Its window needs the opener.
    const { 'Cross-Origin-Opener-Policy': _ours, ...headers } = pageHeaders(config);
    for (const name of ['oauth2-redirect.html', 'oauth2-redirect.js']) serveFile(`/${name}`, name, headers);
  }
  if (config.OIDC_ISSUER) serveWithSignIn(httpAdapter, document, provider);
  // `SwaggerModule` would serve the whole package, with its versions.
  const packageFiles = new Set(readdirSync(dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist')))));
  app.use('/docs', ({ path }: Request, _response: Response, next: Function) => {
    if (packageFiles.has(path.slice(1))) throw new ApiError('route_not_found');
    next();
  });
  // A stub: `swaggerUrl` fetches the document.
  const stub = { openapi: '3.1.0', info: { title, version: '' }, paths: {} };
  SwaggerModule.setup('docs', app, stub, {
    raw: false,
    swaggerUrl: config.OIDC_ISSUER ? 'docs/openapi.json' : 'openapi.json',
    // `SwaggerModule` does not escape the title.
    customSiteTitle: `Swagger UI · ${escape(title)}`,
    customfavIcon: assets.addressOf('favicon.svg'),
    customCssUrl: assets.addressOf('docs.css'),
    customJs: assets.addressOf('docs.js'),
    swaggerOptions: { ...OPTIONS, ...(provider ? { initOAuth: provider.options() } : {}) },
  });
}

function serveWithSignIn(
  httpAdapter: HttpAdapterHost['httpAdapter'],
  document: () => OpenAPIObject,
  provider?: Provider,
): void {
  // By the metadata of the provider, which hardly ever changes.
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
