/**
 * The credentials that this tab remembers until it is closed, also past a reload: the `key` in use, its `source` (`link`
 * for that of the link that the page was opened by, `click` for one that the page has made for its reader, else `own`), and
 * the `account` that the page has made.
 */
export const tab = { ...read() };

/** Remembers further ones; what is undefined is forgotten. */
export function remember(credentials) {
  Object.assign(tab, credentials);
  try {
    sessionStorage.setItem('credentials', JSON.stringify(tab));
  } catch {
    // A browser can be told to keep the storage closed. They are then forgotten with the page.
  }
}

function read() {
  try {
    return JSON.parse(sessionStorage.getItem('credentials'));
  } catch {
    return {};
  }
}

/**
 * What the page learns on a visit: whether it `hasKey`, where that comes from (`source`), and whether it `hasAccount`;
 * `refusal`, the code of the last error about credentials; `isMaking`, whether a key is being made, and `failure`, why that
 * failed; `notice`, what there is to say of the link that the page was opened by, and the key that it `offered`; the `server`
 * that the reader has chosen; and the ids that were `made` here, by the names of the path parameters that take them.
 */
let facts = { source: 'own', made: {} };
const watchers = new Set();

export function visit() {
  return facts;
}

export function learn(more) {
  facts = { ...facts, ...more };
  for (const watcher of watchers) watcher();
}

/** Returns what ends it. */
export function watch(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}
