import type { SwaggerCustomOptions } from '@nestjs/swagger';

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
