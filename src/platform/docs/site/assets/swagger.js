import { answers } from './answers.js';
import { answered, fillIn, sent } from './credentials.js';
import { invalid } from './invalid.js';
import { followFields } from './live-samples.js';
import { fillInMade } from './made-ids.js';
import { panel } from './panel.js';

/**
 * Begins Swagger UI, which the page has for trying out alone: all roots are of one state, and show the panel of the
 * operation that they stand in.
 * @returns what shows a panel in an element
 */
export function begin(document) {
  const ui = SwaggerUIBundle({
    domNode: null,
    dom_id: null,
    docExpansion: 'full',
    displayRequestDuration: true,
    tryItOutEnabled: true,
    plugins: [resolved, noDiscovery, invalid, answers, panel],
    requestInterceptor(request) {
      sent(request);
      // A 401 of the account operations would make the browser lay a log-in box of its own over the page. The header
      // `Authorization` that the page sets is sent nevertheless.
      return Object.assign(request, { credentials: 'omit' });
    },
    responseInterceptor(response) {
      answered(response);
      fillInMade(response, ui.getSystem());
      dispatchEvent(new CustomEvent('answered', { detail: response.obj }));
      return response;
    },
  });
  const system = ui.getSystem();
  // As it is: what is given as a text, or at the start, is read as YAML, which takes a phone a second.
  system.specActions.updateLoadingStatus('success');
  system.specActions.updateJsonSpec(tailored(document));
  fillIn(system);
  const follow = followFields(system);
  return {
    system,
    show(element) {
      ui.render(element);
      follow(element.closest('.operation'));
    },
  };
}

/** An example email that has an account already would be refused: each visit gets one of its own. */
function tailored(document) {
  const suffix = Math.random().toString(36).slice(2, 8);
  return JSON.parse(document.replaceAll('@example.com', () => `-${suffix}@example.com`));
}

/** Nothing in the document refers to anything. Swagger UI would build a model of it all, for each panel. */
const resolved = {
  fn: {
    resolveSubtree: async (document, path) => {
      return { spec: path.reduce((node, name) => node?.[name], document) ?? null, errors: [] };
    },
  },
};

/** Swagger UI would ask an identity provider itself, which the policy of the page forbids. */
function noDiscovery({ fn: { fetch: fetchAnything } }) {
  const fetchAllowed = (request) =>
    String(request?.url ?? request).endsWith('/.well-known/openid-configuration')
      ? Promise.resolve({ status: 200, text: 'null' })
      : fetchAnything(request);
  return { fn: { fetch: fetchAllowed } };
}
