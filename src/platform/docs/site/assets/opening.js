// Says so if a file of the page does not arrive: its reader would wait for ever.
function giveUp() {
  const opening = document.querySelector('#swagger-ui > .opening');
  const link = (name) => Object.assign(document.createElement('a'), { href: name, textContent: name });
  opening?.replaceChildren(
    'This page could not be loaded. Reload it, or read ',
    link('openapi.json'),
    ' or ',
    link('openapi.yaml'),
    '.',
  );
}

// Errors of elements do not bubble. Those of a script, and what one throws, mean that the page will not open.
addEventListener(
  'error',
  ({ target }) => {
    if (target !== window && target.localName !== 'script') return;
    if (document.readyState === 'loading') addEventListener('DOMContentLoaded', giveUp);
    else giveUp();
  },
  true,
);
