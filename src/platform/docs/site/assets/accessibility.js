/** What has no name in Swagger UI, and the one that it gets. */
const NAMES = {
  '#servers': () => 'Server',
  'select.examples-select-element': () => 'Example',
  'select.content-type': () => 'Content type',
  'textarea.body-param__text': () => 'Request body',
  // A region, which has to have a name: the panels of two operations can be open.
  'table.responses-table[role=region]': (table) =>
    `Responses of ${table.closest('.opblock').id.replace(/^.*-/, '')}`,
  '.parameters :is(input, select, textarea)': (field) => field.closest('tr')?.dataset.paramName,
};

/** Mends for readers without a mouse or without sight what Swagger UI leaves open (WCAG 2.2). */
export function accessibility({ React }) {
  const h = React.createElement;

  // Its names for buttons are not what stands on them, which is what somebody says who works them by voice (2.5.3).
  const Button =
    (Original) =>
    ({ 'aria-label': _name, ...props }) => {
      const isRemoval = props.className?.includes('json-schema-form-item-remove');
      return h(Original, props, isRemoval ? 'Remove' : props.children);
    };

  const AuthorizeOperationButton = ({ isAuthorized, onClick, getComponent }) => {
    const Icon = getComponent(isAuthorized ? 'LockAuthOperationIcon' : 'UnlockAuthOperationIcon', true);
    const name = isAuthorized ? 'Credentials are filled in' : 'Credentials are missing';
    const state = isAuthorized ? 'locked' : 'unlocked';
    const look = {
      type: 'button',
      className: 'authorization__btn',
      title: name,
      'aria-label': name,
      onClick,
    };
    return h('button', look, h(Icon, { className: state }));
  };

  return {
    components: {
      // The description links to the document already.
      InfoUrl: () => null,
      // A link inside the button that opens an operation: two things in one place, of which a keyboard meets both.
      DeepLink: ({ text, path }) => h('span', null, text ?? path),
      // The field of each id in a list, which Swagger UI looks for, and has only under the name of a text.
      JsonSchema_integer_int64: (props) => h(props.getComponent('JsonSchema_string'), props),
      authorizeOperationBtn: AuthorizeOperationButton,
    },
    wrapComponents: { Button },
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
    for (const found of root.querySelectorAll('.validation-errors:not([role])')) found.role = 'alert';
    // Swagger UI leaves a level out before it.
    for (const heading of root.querySelectorAll('h6')) heading.ariaLevel = 5;
    for (const block of root.querySelectorAll('pre:not([tabindex], .version)')) block.tabIndex = 0;
  };
  new MutationObserver(mend).observe(root, { childList: true, subtree: true });
}
