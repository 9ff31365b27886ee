import type { SwaggerCustomOptions } from '@nestjs/swagger';
import type { NextFunction, Request, Response } from 'express';
import { ApiError } from '../common/api-error.js';

const CSS = `
/* By default white on light grey: the method of a deprecated operation could not be read. */
.swagger-ui .opblock.opblock-deprecated .opblock-summary-method { color: #000; text-shadow: none; }
/* Dimmed in the list, but to be read once it is open. */
.swagger-ui .opblock.opblock-deprecated:has(.opblock-body) { opacity: 1; }
/* A column of "No links" beside every response: the document has none. */
.swagger-ui .response-col_links { display: none; }
`;

/**
 * Runs in the browser, so it uses nothing from around it. Without it a 401 of the account operations makes the browser
 * lay a log-in box of its own over the page. The `Authorization` header that the page sets is sent nevertheless.
 */
function withoutBrowserLogin(request: object): object {
  return Object.assign(request, { credentials: 'omit' });
}

/** Where Swagger UI and the files of the document are, and how the page behaves. */
export const SWAGGER_UI: SwaggerCustomOptions = {
  jsonDocumentUrl: 'openapi.json',
  yamlDocumentUrl: 'openapi.yaml',
  customSiteTitle: 'Pet Store API',
  customCss: CSS,
  swaggerOptions: {
    // The page ends after the operations: their panels show the schemas too.
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    requestInterceptor: withoutBrowserLogin,
    tryItOutEnabled: true,
  },
};

export const SWAGGER_UI_PATH = 'docs';

const FILES = new Set([
  '/',
  '/swagger-ui-init.js',
  '/swagger-ui.css',
  '/swagger-ui-bundle.js',
  '/swagger-ui-standalone-preset.js',
  '/favicon-16x16.png',
  '/favicon-32x32.png',
]);

/** Express middleware: of the package that Swagger UI comes in, the page needs a few files, and nobody the others. */
export function onlyTheFilesOfThePage({ path }: Request, _response: Response, next: NextFunction): void {
  if (!FILES.has(path)) throw new ApiError('route_not_found');
  next();
}
