import { remember, tab } from './tab.js';

/** The codes of the errors about credentials: the help above the operations says how to go on. */
const REFUSALS = ['account_exists', 'invalid_credentials', 'invalid_api_key'];

/** Takes over the credentials that the reader makes on this page, and drops those that the service refuses. */
export function followCredentials() {
  let account;
  return {
    sent({ method, url, body }) {
      if (method === 'POST' && url.endsWith('/accounts')) account = read(body);
    },
    answered({ url, status, obj }, ui) {
      const refusal = REFUSALS.find((code) => code === obj?.code) ?? '';
      ui.visitActions.learn({ refusal, failure: '' });
      if (refusal === 'invalid_credentials') ui.authActions.logout(['basicAuth']);
      const hasRevokedItself = status === 204 && url.endsWith('/api-keys/current');
      if (refusal === 'invalid_api_key' || hasRevokedItself) ui.authActions.logout(['bearerAuth']);
      if (status !== 201) return;
      if (url.endsWith('/accounts') && account) logIn(ui, account);
      if (!url.endsWith('/api-keys')) return;
      // One that may do less would otherwise take the place of the reader's, unasked.
      if (tab.key) ui.visitActions.learn({ offered: obj.key, notice: 'made' });
      else useKey(ui, obj.key, 'own');
    },
  };
}

/** Fills in what this tab remembers. */
export function fillInCredentials(ui) {
  if (tab.account) logIn(ui, tab.account);
  if (tab.key) useKey(ui, tab.key, tab.source);
}

/** Fills in an account that the page has made, and remembers it. */
export function useAccount(ui, account) {
  logIn(ui, account);
  remember({ account });
}

export function useKey(ui, key, source) {
  ui.visitActions.learn({ source });
  const schema = ui.specSelectors.specJson().getIn(['components', 'securitySchemes', 'bearerAuth']).toJS();
  // By the action, as `rememberKey` does not see what goes through `preauthorizeApiKey`.
  ui.authActions.authorize({ bearerAuth: { schema, value: key } });
}

function logIn(ui, { email, password }) {
  ui.preauthorizeBasic('basicAuth', email, password);
}

/** Remembers the key in use, and forgets what the reader or a refusal has dropped. */
export function rememberKey({ getSystem }) {
  const authorize = (original) => (payload) => {
    const key = payload.bearerAuth?.value;
    if (key) {
      remember({ key, source: getSystem().visitSelectors.source() });
      getSystem().visitActions.learn({ notice: '', offered: undefined });
    }
    return original(payload);
  };
  const logout = (original) => (names) => {
    if (names.includes('bearerAuth')) {
      remember({ key: undefined, source: undefined });
      getSystem().visitActions.learn({ source: 'own' });
    }
    if (names.includes('basicAuth')) remember({ account: undefined });
    return original(names);
  };
  return { statePlugins: { auth: { wrapActions: { authorize, logout } } } };
}

function read(body) {
  try {
    return typeof body === 'string' ? JSON.parse(body) : body;
  } catch {
    return undefined;
  }
}
