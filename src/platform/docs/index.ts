export { buildDocument } from './openapi/document.js';
export { HEADER_NAMES } from './openapi/headers.js';
export { HERE } from './openapi/placed.js';
export { serveDocument } from './openapi/serve-document.js';
export { serveDocs } from './site/serve-docs.js';
export { serveGuides } from './site/serve-guides.js';
export { SiteModule } from './site/site.module.js';
