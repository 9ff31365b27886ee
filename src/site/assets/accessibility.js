/** What has no name in Swagger UI, and the one that it gets. */
const NAMES = {
  '#servers': () => 'Server',
  'select.examples-select-element': () => 'Example',
  'select.content-type': () => 'Content type',
  'textarea.body-param__text': () => 'Request body',
  '.parameters :is(input, select, textarea)': (field) => field.closest('tr')?.dataset.paramName,
};

/** Mends for readers without a mouse or without sight what Swagger UI leaves open (WCAG 2.2). */
export function accessibility({ React }) {
  return {
    components: {
      // The description links to the document already.
      InfoUrl: () => null,
      // A link inside the button that opens an operation: two things in one place, of which a keyboard meets both.
      DeepLink: ({ text, path }) => React.createElement('span', null, text ?? path),
    },
  };
}

/** Keeps giving names to what appears, and a place in the tab order to code that can be scrolled (2.1.1, 4.1.2). */
export function nameFields(root) {
  const mend = () => {
    for (const [selector, nameOf] of Object.entries(NAMES)) {
      for (const field of root.querySelectorAll(`:is(${selector}):not([aria-label])`)) {
        const name = nameOf(field);
        if (name) field.setAttribute('aria-label', name);
      }
    }
    for (const block of root.querySelectorAll('pre:not([tabindex], .version)')) block.tabIndex = 0;
  };
  new MutationObserver(mend).observe(root, { childList: true, subtree: true });
}
