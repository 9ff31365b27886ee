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
