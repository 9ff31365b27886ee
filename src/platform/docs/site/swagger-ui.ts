import { HttpAdapterHost } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { NextFunction, Request, Response } from 'express';
import type { Config } from '../../../config.js';
import { ApiError } from '../../api/index.js';
import { type Assets, pageHeaders } from './assets.js';
import { escape } from './markdown.js';

/** The request that Swagger UI passes to an interceptor, in the browser. */
interface SentRequest {
  readonly url: string;
  body?: unknown;
}

const OPTIONS = {
  displayOperationId: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  filter: true,
  defaultModelsExpandDepth: 0,
  // The default would send the document to swagger.io.
  validatorUrl: 'none',
  requestInterceptor: (request: SentRequest) => {
    // A token endpoint reads parameters in the body (RFC 6749, 3.2; RFC 8707), but Swagger UI puts further ones into the URL.
    const [, query] = request.url.split('?');
    const { body } = request;
    if (query && typeof body === 'string' && body.startsWith('grant_type='))
      request.body = `${body}&${query}`;
    // With credentials, a 401 of an account operation would open the browser's log-in box.
    return Object.assign(request, { credentials: 'omit' });
  },
};

/** Hashes of the page's inline styles, which no option removes; a test fails if a hash is missing. */
const STYLES = [
  "'sha256-/jDKvbQ8cdux+c5epDIqkjHbXDaIY8RucT1PmAe8FG4='",
  "'sha256-eaPyLWVdqMc60xuz5bTp2yBRgVpQSoUggte1+40ONPU='",
  // The logo, made by the script of Swagger UI.
  "'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='",
  // Lets the next hash apply to a `style` attribute.
  "'unsafe-hashes'",
  "'sha256-ezdv1bOGcoOD7FKudKN0Y2Mb763O6qVtM8LT2mtanIU='",
];

/** The files that the page uses. `SwaggerModule` would serve the whole package, with a page of its own. */
const FILES = new Set([
  ...['swagger-ui.css', 'swagger-ui-bundle.js', 'swagger-ui-standalone-preset.js', 'swagger-ui-init.js'],
  ...['oauth2-redirect.html', 'oauth2-redirect.js'],
]);

/** Serves the unmodified Swagger UI at `/docs`, with the button of `assets/docs.js`. */
export function serveSwaggerUi(
  app: NestExpressApplication,
  config: Config,
  { assets, title }: { assets: Assets; title: string },
): void {
  const { OIDC_ISSUER, OIDC_CLIENT_ID } = config;
  const headers = pageHeaders(config, STYLES, OIDC_ISSUER);
  app.use('/docs', ({ path, originalUrl }: Request, response: Response, next: NextFunction) => {
    // The page has addresses relative to `/docs`, so that it also works behind a proxy that adds a prefix.
    if (/^\/docs\/(?:index\.html)?(?:\?|$)/.test(originalUrl)) return response.redirect(308, '../docs');
    if (path !== '/' && !FILES.has(path.slice(1))) throw new ApiError('route_not_found');
    response.set(headers);
    if (path !== '/') {
      response.set('Cache-Control', 'no-cache');
      // One of these files, to which the identity provider redirects the pop-up, needs access to its opener.
      response.removeHeader('Cross-Origin-Opener-Policy');
    }
    next();
  });
  // Registers a route for each file, so that other methods are answered with 405.
  const { httpAdapter } = app.get(HttpAdapterHost);
  for (const name of FILES)
    httpAdapter.get(`/docs/${name}`, (_request: Request, _response: Response, next?: Function) => next!());
  if (OIDC_CLIENT_ID !== undefined)
    // Swagger UI on a page at `/docs` uses this redirect address.
    app.use('/oauth2-redirect.html', ({ originalUrl }: Request, response: Response) =>
      response.redirect(`docs${originalUrl}`),
    );
  // Passes an empty document, because the page fetches the document from `swaggerUrl`.
  SwaggerModule.setup('docs', app, {} as OpenAPIObject, {
    raw: false,
    swaggerUrl: 'openapi.json',
    // `SwaggerModule` does not escape the title.
    customSiteTitle: `Swagger UI · ${escape(title)}`,
    customfavIcon: assets.addressOf('favicon.svg'),
    customJs: assets.addressOf('docs.js'),
    swaggerOptions: { ...OPTIONS, ...(OIDC_CLIENT_ID === undefined ? {} : { initOAuth: signIn(config) }) },
  });
}

/** The sign-in of Swagger UI at the identity provider. */
function signIn({ OIDC_CLIENT_ID: clientId, OIDC_SIGN_IN_QUERY }: Config) {
  const query = Object.fromEntries(new URLSearchParams(OIDC_SIGN_IN_QUERY));
  const { scope = 'openid', ...additionalQueryStringParams } = query;
  const scopes = scope.split(' ');
  return { clientId, usePkceWithAuthorizationCodeGrant: true, scopes, additionalQueryStringParams };
}
