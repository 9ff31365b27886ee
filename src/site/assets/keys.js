/** Fills in the demo key, where this service has one and tells it to this visitor. */
export async function useDemoKey(ui) {
  const response = await fetch(new URL('docs/demo-key', location.href));
  if (response.status !== 200) return;
  const { key } = await response.json();
  isDemo = true;
  ui.preauthorizeApiKey('bearerAuth', key);
}

/** Whether the key in use is the demo key. */
let isDemo = false;

/** Takes over the credentials that the reader makes on this page: the next operation can be run at once. */
export function followKeys() {
  let account;
  return {
    sent(request) {
      if (request.method === 'POST' && request.url.endsWith('/accounts')) account = read(request.body);
      return request;
    },
    answered(response, ui) {
      if (response.status !== 201) return response;
      if (response.url.endsWith('/accounts') && account) {
        ui.preauthorizeBasic('basicAuth', account.email, account.password);
      }
      if (response.url.endsWith('/api-keys')) {
        isDemo = false;
        ui.preauthorizeApiKey('bearerAuth', response.obj.key);
      }
      return response;
    },
  };
}

function read(body) {
  try {
    return typeof body === 'string' ? JSON.parse(body) : body;
  } catch {
    return undefined;
  }
}

/** Says above the operations which key the page sends, or how to come by one. */
export function keyHelp({ React, authSelectors }) {
  const h = React.createElement;
  const link = (id, text) => h('a', { href: `#/accounts/${id}`, onClick: () => open(id) }, text);

  const withoutKey = (hasAccount) => [
    h('h2', { key: 'title' }, 'You need an API key'),
    h(
      'ol',
      { key: 'steps' },
      h(
        'li',
        { className: hasAccount ? 'done' : undefined },
        link('createAccount', 'Create an account'),
        ': choose an email and a password, and press Execute.',
      ),
      h(
        'li',
        null,
        link('createApiKey', 'Create an API key'),
        ': press Execute. The page sends the email and password of your new account.',
      ),
      h(
        'li',
        null,
        'Run anything else: the page sends your new key. Keep a copy of it, as it is never shown again.',
      ),
    ),
    h(
      'p',
      { key: 'other' },
      'You have an account or a key already? Press ',
      h('b', null, 'Authorize'),
      ' and enter it.',
    ),
  ];
  const withKey = () => [
    h(
      'h2',
      { key: 'title' },
      isDemo ? 'You can start: a demo key is filled in' : 'You can start: your API key is filled in',
    ),
    h(
      'p',
      { key: 'text' },
      'Open any operation and press ',
      h('b', null, 'Execute'),
      isDemo
        ? '. The demo key lasts until the service stops, and only this machine is given it. '
        : '. The page forgets the key when you leave it. ',
      isDemo && [
        'For a key of your own, ',
        h(
          React.Fragment,
          { key: 'own' },
          link('createAccount', 'create an account'),
          ' and ',
          link('createApiKey', 'an API key'),
          '.',
        ),
      ],
    ),
  ];

  const WithHelp = (InfoContainer) => (props) => {
    const authorized = authSelectors.authorized();
    const hasKey = authorized.has('bearerAuth');
    return h(
      React.Fragment,
      null,
      h(
        'section',
        { className: `key-help ${hasKey ? 'ready' : ''}`, 'aria-live': 'polite' },
        hasKey ? withKey() : withoutKey(authorized.has('basicAuth')),
      ),
      h(InfoContainer, props),
    );
  };
  return { wrapComponents: { InfoContainer: WithHelp } };
}

/** Opens the panel of an operation and goes there, also where the address names it already. */
function open(id) {
  const panel = document.getElementById(`operations-accounts-${id}`);
  const control = panel?.querySelector('.opblock-summary-control');
  if (control?.getAttribute('aria-expanded') === 'false') control.click();
  panel?.scrollIntoView({ behavior: 'smooth' });
  control?.focus({ preventScroll: true });
}
