import { useAccount, useKey } from './credentials.js';
import { tab } from './tab.js';

/** Gives the reader a new account and a key of it, through the operations that are there for everybody. */
export async function makeKey(ui) {
  ui.visitActions.learn({ isMaking: true, failure: '' });
  try {
    const account = tab.account ?? (await signUp(ui));
    const { key } = await post(ui, 'api-keys', { name: 'For the page with the documentation' }, account);
    useAccount(ui, account);
    useKey(ui, key, 'click');
    ui.visitActions.learn({ refusal: '' });
  } catch ({ message }) {
    ui.visitActions.learn({ failure: message });
  } finally {
    ui.visitActions.learn({ isMaking: false });
  }
}

/** Nobody can own an address in `.invalid` (RFC 2606), and nobody else knows the password. */
async function signUp(ui) {
  const account = { email: `visitor.${random(8)}@petstore.invalid`, password: random(24) };
  await post(ui, 'accounts', account);
  return account;
}

/** @throws Error with the message of the service */
async function post(ui, path, body, account) {
  const headers = { 'Content-Type': 'application/json' };
  if (account) headers.Authorization = `Basic ${btoa(`${account.email}:${account.password}`)}`;
  const request = {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    credentials: 'omit',
    redirect: 'error',
  };
  const response = await fetch(`${serverOf(ui)}/${path}`, request).catch(() => {
    throw new Error('There was no answer: is the service still running?');
  });
  const answer = await response.json().catch(() => {
    throw new Error(`Something other than the service has answered, with ${response.status}.`);
  });
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

/** That which the reader has chosen, else the first of the document. */
export function serverOf({ oas3Selectors, specSelectors }) {
  const first = specSelectors.specJson().getIn(['servers', 0, 'url']);
  return new URL(oas3Selectors.selectedServer() || first, location.href).href;
}

/** Characters that can stand in an email and in a password. */
function random(length) {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(bytes, (byte) => (byte % 32).toString(32)).join('');
}
