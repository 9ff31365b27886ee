import { useKey } from './credentials.js';
import { tab } from './tab.js';
import { learn } from './visit.js';

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
