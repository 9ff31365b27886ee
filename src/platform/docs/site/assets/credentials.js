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
      ui.visitActions.learn({ refusal });
      if (refusal === 'invalid_credentials') ui.authActions.logout(['basicAuth']);
      if (refusal === 'invalid_api_key') void replaceKey(ui);
      if (status !== 201) return;
      if (url.endsWith('/accounts') && account) {
        ui.preauthorizeBasic('basicAuth', account.email, account.password);
      }
      if (url.endsWith('/api-keys')) use(ui, obj.key, false);
    },
  };
}

/** Fills in the key that this tab remembers, else the demo key. */
export async function fillInKey(ui) {
  const key = remembered.get();
  if (key) use(ui, key, false);
  else await fillInDemoKey(ui);
}

/** Fills in the demo key, if this service has one and tells it to this visitor. */
async function fillInDemoKey(ui) {
  const response = await fetch(new URL('docs/demo-key', location.href));
  if (response.status === 200) use(ui, (await response.json()).key, true);
}

/** Forgets a key that is refused. A service that has started anew has a new demo key. */
async function replaceKey(ui) {
  const wasDemo = ui.visitSelectors.isDemo();
  ui.authActions.logout(['bearerAuth']);
  if (wasDemo) await fillInDemoKey(ui);
}

function use(ui, key, isDemo) {
  ui.visitActions.learn({ isDemo });
  const schema = ui.specSelectors.specJson().getIn(['components', 'securitySchemes', 'bearerAuth']).toJS();
  // By the action, as `rememberKey` does not see what goes through `preauthorizeApiKey`.
  ui.authActions.authorize({ bearerAuth: { schema, value: key } });
}

/** Remembers the key in use while the tab is open, also past a reload; the demo key is asked for each time. */
export function rememberKey({ getSystem }) {
  const authorize = (original) => (payload) => {
    const key = payload.bearerAuth?.value;
    if (key && !getSystem().visitSelectors.isDemo()) remembered.set(key);
    return original(payload);
  };
  const logout = (original) => (names) => {
    if (names.includes('bearerAuth')) {
      remembered.set('');
      getSystem().visitActions.learn({ isDemo: false });
    }
    return original(names);
  };
  return { statePlugins: { auth: { wrapActions: { authorize, logout } } } };
}

/** The storage of the tab, which a browser can be told to keep closed. */
const remembered = {
  get() {
    try {
      return sessionStorage.getItem('apiKey');
    } catch {
      return '';
    }
  },
  set(key) {
    try {
      sessionStorage.setItem('apiKey', key);
    } catch {
      // The key is then forgotten with the page.
    }
  },
};

function read(body) {
  try {
    return typeof body === 'string' ? JSON.parse(body) : body;
  } catch {
    return undefined;
  }
}
