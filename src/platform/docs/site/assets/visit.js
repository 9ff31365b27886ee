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
