import { exactAnswers } from './answers.js';
import { badges } from './badges.js';
import { codeSamples } from './code-samples.js';
import { errorTable } from './error-table.js';
import { followKeys, keyHelp, useDemoKey } from './keys.js';
import { accessibility, nameFields } from './accessibility.js';

// Swagger UI has a dark theme of its own, for which it waits to be asked.
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

nameFields(document.getElementById('swagger-ui'));

const keys = followKeys();

const ui = SwaggerUIBundle({
  url: new URL('openapi.json', location.href).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  // The page ends after the operations: their panels show the schemas too.
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  plugins: [badges, codeSamples, errorTable, exactAnswers, keyHelp, accessibility],
  // A 401 of the account operations would make the browser lay a log-in box of its own over the page. The header
  // `Authorization` that the page sets is sent nevertheless.
  requestInterceptor: (request) => keys.sent(Object.assign(request, { credentials: 'omit' })),
  responseInterceptor: (response) => keys.answered(response, ui),
  onComplete: () => useDemoKey(ui),
});
