import { accessibility, nameFields } from './accessibility.js';
import { answers } from './answers.js';
import { authorizationDialog } from './authorization-dialog.js';
import { badges } from './badges.js';
import { codeSamples } from './code-samples.js';
import { fillInCredentials, followCredentials, rememberKey } from './credentials.js';
import { errorResponses } from './error-responses.js';
import { errorTable } from './error-table.js';
import { hints } from './hints.js';
import { invalid } from './invalid.js';
import { keyHelp } from './key-help.js';
import { fillInMade } from './made-ids.js';
import { followAddress, navigation, openAddress } from './navigation.js';
import { nextPage } from './next-page.js';
import { nextSteps } from './next-steps.js';
import { outline } from './outline.js';
import { followPlace } from './place.js';
import { references } from './references.js';
import { servers } from './servers.js';
import { signIn } from './sign-in.js';
import { followLink, takeLink } from './start-link.js';
import { visit } from './visit.js';

// Before anything else looks at the address.
const link = takeLink();

// Swagger UI has a dark theme of its own, for which it waits to be asked.
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

nameFields(document.getElementById('swagger-ui'));

const DOCUMENT = new URL('openapi.json', location.href).href;
const credentials = followCredentials();

const ui = SwaggerUIBundle({
  url: DOCUMENT,
  dom_id: '#swagger-ui',
  deepLinking: true,
  // The page ends after the operations: their panels show the schemas too.
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  plugins: [
    references,
    servers,
    emptyFilters,
    visit,
    navigation,
    rememberKey,
    outline,
    keyHelp,
    signIn,
    hints,
    invalid,
    badges,
    // Each lays itself around what those before it have made: the samples come above all responses.
    errorResponses,
    codeSamples,
    errorTable,
    nextPage,
    nextSteps,
    answers,
    authorizationDialog,
    accessibility,
  ],
  requestInterceptor(request) {
    if (request.url === DOCUMENT) return request;
    credentials.sent(request);
    // A 401 of the account operations would make the browser lay a log-in box of its own over the page. The header
    // `Authorization` that the page sets is sent nevertheless.
    return Object.assign(request, { credentials: 'omit' });
  },
  responseInterceptor(response) {
    if (response.url === DOCUMENT) return withUnusedEmail(response);
    credentials.answered(response, ui);
    fillInMade(response, ui);
    ui.signInActions.answered(response);
    return response;
  },
  onComplete() {
    fillInCredentials(ui);
    if (link) void followLink(ui, link);
    void openAddress(ui);
    followAddress(ui);
    followPlace(document.getElementById('swagger-ui'));
  },
});

/** An example email that has an account already would be refused: each visit gets one of its own. */
function withUnusedEmail(response) {
  const suffix = Math.random().toString(36).slice(2, 8);
  response.text = response.text?.replaceAll('@example.com', () => `-${suffix}@example.com`);
  return response;
}

/** Optional parameters come empty: an example would filter a list before its reader has asked for that. */
function emptyFilters() {
  const updateJsonSpec = (original) => (spec) => {
    const operations = Object.values(spec.paths).flatMap((item) => Object.values(item));
    for (const { required, schema } of operations.flatMap(({ parameters = [] }) => parameters))
      if (!required) delete schema?.example;
    return original(spec);
  };
  return { statePlugins: { spec: { wrapActions: { updateJsonSpec } } } };
}
