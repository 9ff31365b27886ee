export { buildDocument, ProductFacts } from './openapi/document.js';
export { HERE } from './openapi/schemas.js';
export { HEADER_NAMES } from './openapi/responses.js';
export { serveDocument } from './openapi/serve-document.js';
export { serveSite } from './site/serve-pages.js';
