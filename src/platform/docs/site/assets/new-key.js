import { server, useAccount, useKey } from './credentials.js';
import { learn, tab } from './visit.js';

/** Gives the reader a new account and a key of it, through the operations that are there for everybody. */
export async function makeKey() {
  learn({ isMaking: true, failure: '' });
  try {
    const account = tab.account ?? (await signUp());
    const { key } = await post('api-keys', { name: 'For the page with the documentation' }, account);
    useAccount(account);
    useKey(key, 'click');
    learn({ refusal: '' });
  } catch ({ message }) {
    learn({ failure: message });
  } finally {
    learn({ isMaking: false });
  }
}

/** Nobody can own an address in `.invalid` (RFC 2606), and nobody else knows the password. */
async function signUp() {
  const account = { email: `visitor.${random(8)}@petstore.invalid`, password: random(24) };
  await post('accounts', account);
  return account;
}

/** @throws Error with the message of the service */
async function post(path, body, account) {
  const headers = { 'Content-Type': 'application/json' };
  if (account) headers.Authorization = `Basic ${btoa(`${account.email}:${account.password}`)}`;
  const request = {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
    credentials: 'omit',
    redirect: 'error',
  };
  const response = await fetch(`${server()}/${path}`, request).catch(() => {
    throw new Error('There was no answer: is the service still running?');
  });
  const answer = await response.json().catch(() => {
    throw new Error(`Something other than the service has answered, with ${response.status}.`);
  });
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

/** Characters that can stand in an email and in a password. */
function random(length) {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(bytes, (byte) => (byte % 32).toString(32)).join('');
}

/**
 * Takes what a link has for this page out of its address, `docs#start=…`, and exchanges the code of the start for the demo
 * key. The history keeps that address, whatever a page does, but its code is good only once. A browser sends the fragment
 * to nobody (RFC 9110, 7.1), so that neither a proxy nor a log has seen the code.
 *
 * A key in an address, `docs#key=…`, is not used: any site can lead here with a key of its own, and would own all that is
 * done with it.
 */
export async function followLink() {
  const [, what, code] = /^#(start|key)=(.*)$/.exec(location.hash) ?? [];
  if (!what) return;
  history.replaceState(history.state, '', location.pathname + location.search);
  const { key, notice } = what === 'start' ? await redeem(code) : { notice: 'foreign' };
  if (!key) learn({ notice });
  // Unless this tab has another one.
  else if (!tab.key) useKey(key, 'link');
  else if (key !== tab.key) learn({ offered: key, notice: 'offered' });
}

async function redeem(code) {
  try {
    const headers = { Authorization: `Bearer ${code}` };
    const response = await fetch('docs/start', { headers, credentials: 'omit', redirect: 'error' });
    if (response.ok) return await response.json();
    return { notice: response.status === 401 ? 'used' : 'failed' };
  } catch {
    return { notice: 'failed' };
  }
}
