import { followLink, takeLink } from './start-link.js';

/**
 * Lets a panel be opened without Swagger UI's own step in the history, which is for panels that the reader opens: Back
 * could not get past it.
 */
export const navigation = {
  statePlugins: {
    layout: {
      actions: { reveal: (thing) => ({ type: 'layout_show', payload: { thing, shown: true } }) },
    },
  },
};

/** Opens what an address of this page names, an operation or the table of errors, and goes there. */
export async function openAddress({ layoutActions }, hash = location.hash) {
  // Swagger UI writes the address of the table as that of a tag.
  if (/^#\/?errors$/.test(hash)) return openErrors();
  const [, tag, id] = /^#\/([^/]+)\/([^/]+)$/.exec(decodeURIComponent(hash)) ?? [];
  if (!id) return;
  layoutActions.reveal(['operations-tag', tag]);
  layoutActions.reveal(['operations', tag, id]);
  const panel = await appearing(`operations-${tag}-${id}`);
  panel?.scrollIntoView();
  panel?.querySelector('.opblock-summary-control').focus({ preventScroll: true });
}

async function openErrors() {
  const table = await appearing('errors');
  if (table) table.open = true;
  table?.scrollIntoView();
}

/** An element that may only be there after some frames: Swagger UI says that it is complete before it has drawn. */
async function appearing(id) {
  for (let frames = 0; frames < 60 && !document.getElementById(id); frames++) {
    await new Promise((drawn) => requestAnimationFrame(drawn));
  }
  return document.getElementById(id);
}

/** Follows the address where it changes while the page is open: by the reader, by Back, or by a link in a text. */
export function followAddress(ui) {
  addEventListener('hashchange', () => {
    const link = takeLink();
    if (link) void followLink(ui, link);
    else void openAddress(ui);
  });
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.(':is(.side, .menu) a');
    if (!link) return;
    // The page stays as it is, also one with a query in its address.
    event.preventDefault();
    link.closest('details')?.removeAttribute('open');
    if (link.hash === location.hash) void openAddress(ui);
    else location.hash = link.hash;
  });
  // Swagger UI opens the links of a description in a new tab, which has no key, and in which Back leads nowhere.
  document.addEventListener(
    'click',
    ({ target }) => {
      const link = target.closest?.('#swagger-ui a[target=_blank]');
      if (link?.origin === location.origin) link.removeAttribute('target');
    },
    true,
  );
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href$="/docs#errors"]');
    if (!link) return;
    event.preventDefault();
    if (location.hash === '#errors') void openErrors();
    else location.hash = 'errors';
  });
}

/** A link to an operation, which goes there also if the address names it already. */
export function operationLink({ React, getSystem }, tag, id, text) {
  const href = `#/${tag}/${id}`;
  return React.createElement('a', { href, onClick: () => void openAddress(getSystem(), href) }, text);
}
