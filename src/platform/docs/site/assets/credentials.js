import { learn, remember, tab, visit } from './visit.js';

/** The codes of the errors about credentials: the help above the operations says how to go on. */
const REFUSALS = ['account_exists', 'invalid_credentials', 'invalid_api_key'];

/** Swagger UI, once it has come. */
let ui;
let account = tab.account;
learn({ hasKey: Boolean(tab.key), hasAccount: Boolean(account), source: tab.source ?? 'own' });

/** Has Swagger UI send what the page has. */
export function fillIn(system) {
  ui = system;
  if (account) authorize('basicAuth', { username: account.email, password: account.password });
  if (tab.key) authorize('bearerAuth', tab.key);
}

export function useKey(key, source) {
  remember({ key, source });
  learn({ hasKey: true, source, notice: '', offered: undefined });
  authorize('bearerAuth', key);
}

/** What requests are sent with. */
export function inUse() {
  return { key: tab.key, ...account };
}

/** Uses what the reader has entered; what is empty is forgotten. */
export function enter({ key, email, password }) {
  if (!key) forgetKey();
  else if (key !== tab.key) useKey(key, 'own');
  if (!email) forgetAccount();
  else if (email !== account?.email || password !== account.password) logIn({ email, password });
}

function forgetKey() {
  remember({ key: undefined, source: undefined });
  learn({ hasKey: false, source: 'own' });
  ui?.authActions.logout(['bearerAuth']);
}

function forgetAccount() {
  remember({ account: undefined });
  account = undefined;
  learn({ hasAccount: false });
  ui?.authActions.logout(['basicAuth']);
}

/** Fills in an account that the page has made, and remembers it. */
export function useAccount(made) {
  remember({ account: made });
  logIn(made);
}

function logIn(given) {
  account = given;
  learn({ hasAccount: true });
  authorize('basicAuth', { username: given.email, password: given.password });
}

function authorize(scheme, value) {
  const schema = ui?.specSelectors.specJson().getIn(['components', 'securitySchemes', scheme])?.toJS();
  if (schema) ui.authActions.authorize({ [scheme]: { name: scheme, schema, value } });
}

/** Takes over the account that a request makes. */
export function sent({ method, url, body }) {
  if (method === 'POST' && url.endsWith('/accounts')) asked = read(body);
}
let asked;

/** Takes over the credentials that the reader makes on this page, and drops those that the service refuses. */
export function answered({ url, status, obj }) {
  const refusal = REFUSALS.find((code) => code === obj?.code) ?? '';
  learn({ refusal, failure: '' });
  if (refusal === 'invalid_credentials') forgetAccount();
  const hasRevokedItself = status === 204 && url.endsWith('/api-keys/current');
  if (refusal === 'invalid_api_key' || hasRevokedItself) forgetKey();
  if (status !== 201) return;
  if (url.endsWith('/accounts') && asked) logIn(asked);
  if (!url.endsWith('/api-keys')) return;
  // One that may do less would otherwise take the place of the reader's, unasked.
  if (tab.key) learn({ offered: obj.key, notice: 'made' });
  else useKey(obj.key, 'own');
}

function read(body) {
  try {
    return typeof body === 'string' ? JSON.parse(body) : body;
  } catch {
    return undefined;
  }
}

/** That which the reader has chosen, else the first of the document. */
export function server() {
  return new URL(visit().server ?? document.querySelector('.reference').dataset.server, location.href).href;
}
