import { useKey } from './credentials.js';
import { tab } from './tab.js';

/**
 * Takes what a link has for this page out of its address, `docs#start=…`, and exchanges the code of the start for the demo
 * key. The history keeps that address, whatever a page does, but its code is good only once. A browser sends the fragment
 * to nobody (RFC 9110, 7.1), so that neither a proxy nor a log has seen the code.
 *
 * A key in an address, `docs#key=…`, is not used: any site can lead here with a key of its own, and would own all that is
 * done with it. Returns nothing if there is neither.
 */
export function takeLink() {
  const [, what, code] = /^#(start|key)=(.*)$/.exec(location.hash) ?? [];
  if (!what) return undefined;
  history.replaceState(history.state, '', location.pathname + location.search);
  return what === 'start' ? redeem(code) : Promise.resolve({ notice: 'foreign' });
}

/** Uses the key of a link, unless this tab has another one: then it only offers the key. */
export async function followLink(ui, link) {
  const { key, notice } = await link;
  if (!key) ui.visitActions.learn({ notice });
  else if (!tab.key) useKey(ui, key, 'link');
  else if (key !== tab.key) ui.visitActions.learn({ offered: key, notice: 'offered' });
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
