/**
 * The dialog of the credentials as the element that HTML has for it: the browser keeps the rest of the page
 * out of reach, closes it on Escape, and gives the focus back to the button that opened it.
 */
export function authorizationDialog({ React }) {
  const h = React.createElement;

  function Dialog(props) {
    const { authSelectors, authActions, getComponent } = props;
    const dialog = React.useRef(null);
    React.useEffect(() => {
      dialog.current.showModal();
      const key = dialog.current.querySelector('#auth-bearer-value');
      (key ?? dialog.current.querySelector('input'))?.focus();
    }, []);
    React.useEffect(() => {
      // Swagger UI leaves a level out before it.
      for (const heading of dialog.current.querySelectorAll('h6')) heading.ariaLevel = 5;
    });
    const Auths = getComponent('auths');
    const CloseIcon = getComponent('CloseIcon');
    const close = () => dialog.current.close();
    // Its own way to close would take the dialog away with the focus in it.
    const actions = { ...authActions, showDefinitions: close };
    return h(
      'dialog',
      {
        ref: dialog,
        className: 'authorizations',
        'aria-labelledby': 'authorizations-title',
        onClose: () => authActions.showDefinitions(false),
        onClick: ({ target }) => target === dialog.current && close(),
        onKeyDown: (event) => event.key === 'Tab' && keepInside(event),
      },
      h(
        'header',
        null,
        h('h3', { id: 'authorizations-title' }, 'Authorize'),
        h(
          'button',
          { type: 'button', className: 'close-modal', 'aria-label': 'Close', onClick: close },
          h(CloseIcon),
        ),
      ),
      ...authSelectors
        .shownDefinitions()
        .valueSeq()
        .map((definitions) => h(Auths, { ...props, authActions: actions, definitions })),
    );
  }
  return { components: { authorizationPopup: Dialog } };
}

/** From the last control, the focus goes on to the first, and back: a browser would leave the page by its own controls. */
function keepInside(event) {
  const controls = [...event.currentTarget.querySelectorAll('a, button, input')];
  const [from, to] = event.shiftKey ? [controls[0], controls.at(-1)] : [controls.at(-1), controls[0]];
  if (event.target !== from) return;
  event.preventDefault();
  to.focus();
}
