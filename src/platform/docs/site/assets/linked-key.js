import { remember } from './tab.js';

/**
 * Takes a key out of the address of the page: `docs#key=petstore_…`, the link that a service prints when it starts. A
 * browser sends the fragment to nobody (RFC 9110, 7.1), so that neither a proxy nor a log has seen it, and it must not
 * stay where others look over the shoulder, or in the history. Returns whether there was one.
 */
export function takeLinkedKey() {
  if (!location.hash.startsWith('#key=')) return false;
  const [, key] = /^#key=(\w+)$/.exec(location.hash) ?? [];
  history.replaceState(history.state, '', location.pathname + location.search);
  if (key) remember({ key, source: 'link' });
  return key !== undefined;
}
