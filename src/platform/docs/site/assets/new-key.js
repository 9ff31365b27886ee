import { ask } from './ask.js';
import { server, useAccount, useKey } from './credentials.js';
import { learn, tab } from './visit.js';

/** Gives the reader a new account and a key of it, through the operations that are there for everybody. */
export async function makeKey() {
  learn({ isMaking: true, failure: '' });
  try {
    const account = tab.account ?? (await signUp());
    const { key } = await ask(`${server()}/api-keys`, {
      authorization: `Basic ${btoa(`${account.email}:${account.password}`)}`,
      body: { name: 'For the page with the documentation' },
    });
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
  const body = { email: `visitor.${random(8)}@petstore.invalid`, password: random(24) };
  await ask(`${server()}/accounts`, { body });
  return body;
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
    return await ask('docs/start', { authorization: `Bearer ${code}` });
  } catch ({ status }) {
    return { notice: status === 401 ? 'used' : 'failed' };
  }
}
