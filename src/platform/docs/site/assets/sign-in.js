import { newRequest } from './authorization-code.js';
import { serverOf } from './new-key.js';

const SCHEME = 'openIdConnect';
/** The longest time that a browser waits. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Lets the reader sign in at the identity provider of the service, where that has a client for this page. The access token
 * is in Swagger UI's state alone, so in no storage and no address, and ends with the page; requests are sent with the token
 * as long as it is there, whatever key is filled in too.
 */
export function signIn(system) {
  const { React } = system;
  const h = React.createElement;
  const { fetch: fetchAnything } = system.fn;
  const learn = (facts) => system.getSystem().signInActions.learn(facts);
  /** That which the next press of the button opens: a browser opens a window only at once. */
  let next;
  /** Those that a window may still answer. */
  const open = new Set();
  let expiry;

  async function prepare() {
    next = undefined;
    try {
      next = await newRequest();
      learn({ state: 'ready' });
    } catch ({ message }) {
      learn({ state: 'away', message });
    }
  }

  function ask() {
    const request = next;
    const opened = window.open(request.address, '_blank', 'popup,width=520,height=720');
    learn({ state: opened ? 'waiting' : 'blocked', message: '' });
    if (!opened) return;
    open.add(request);
    void prepareAnother();
  }

  async function prepareAnother() {
    next = await newRequest().catch(() => next);
  }

  async function answered(text) {
    const answer = new URLSearchParams(text);
    const request = [...open].find((one) => one.isAnsweredBy(answer));
    // Of another tab, or made up by whoever has led the reader to that page.
    if (!request) return;
    open.clear();
    try {
      use(await request.redeem(answer));
    } catch ({ message }) {
      learn({ state: 'refused', message });
    }
  }

  function use({ token, seconds }) {
    const ui = system.getSystem();
    const schema = ui.specSelectors.specJson().getIn(['components', 'securitySchemes', SCHEME]).toJS();
    // By the action of OAuth: that of keys takes nothing of this type.
    ui.authActions.authorizeOauth2({
      auth: { name: SCHEME, schema },
      token: { access_token: token, token_type: 'bearer' },
    });
    clearTimeout(expiry);
    if (seconds) expiry = setTimeout(end, Math.min(seconds * 1_000, LONGEST_MS));
    learn({ state: 'signed in', message: '' });
    void introduce(ui, token);
  }

  /** Says whose account requests now are, or why the service does not take the token. */
  async function introduce(ui, token) {
    try {
      const response = await fetch(`${serverOf(ui)}/accounts/current`, {
        headers: { Authorization: `Bearer ${token}` },
        credentials: 'omit',
        redirect: 'error',
      });
      const answer = await response.json();
      if (response.ok) learn({ message: answer.email.endsWith('@identity.invalid') ? '' : answer.email });
      else leave('refused', answer.message);
    } catch {
      learn({ message: '' });
    }
  }

  function leave(state, message = '') {
    clearTimeout(expiry);
    system.getSystem().authActions.logout([SCHEME]);
    learn({ state, message });
  }

  function end() {
    leave('ended');
  }

  const says = {
    ready: () => 'Or sign in with your company’s account.',
    away: (message) => `Signing in is not possible now. ${message}`,
    blocked: () => 'The browser has not opened the window to sign in: allow it to, and try again.',
    waiting: () => 'Sign in in the window that has opened.',
    refused: (message) => message,
    ended: () => 'You are no longer signed in: your access token has ended.',
    'signed in': (email) =>
      `You are signed in${email ? ` as ${email}` : ''}: requests are sent with your access token.`,
  };

  function SignIn() {
    const { state, message } = system.getSystem().signInSelectors.facts();
    const isSignedIn = state === 'signed in';
    const look = { 'signed in': 'ready', refused: 'refused', away: 'refused', ended: 'refused' }[state] ?? '';
    const press = isSignedIn ? () => leave('ready') : next ? ask : prepare;
    return h(
      'section',
      { className: `sign-in ${look}`, 'aria-label': 'Sign in' },
      h('p', { role: 'status' }, says[state](message)),
      h(
        'button',
        { type: 'button', className: 'make-key', onClick: press },
        isSignedIn ? 'Sign out' : state === 'away' ? 'Try again' : 'Sign in',
      ),
    );
  }

  /** In the place of the help about keys, which signing in does without. */
  const BesideKeys = (Original) => (props) => {
    const facts = props.signInSelectors.facts();
    if (!facts) return h(Original, props);
    return h(React.Fragment, null, h(SignIn), facts.state !== 'signed in' && h(Original, props));
  };

  function begin() {
    const look = { rel: 'stylesheet', href: new URL('sign-in.css', import.meta.url).href };
    document.head.append(Object.assign(document.createElement('link'), look));
    new BroadcastChannel('signed in').addEventListener('message', ({ data }) => void answered(String(data)));
    void prepare();
  }

  /** The scheme in the document has the client of this page, if there is one. */
  const onDocument = (original) => (document) => {
    const result = original(document);
    if (document?.components?.securitySchemes?.[SCHEME]?.['x-client-id']) begin();
    return result;
  };

  /** Swagger UI would ask the provider itself, which the policy of the page forbids, for forms that do no PKCE. */
  function fetchAllowed(request) {
    const isDiscovery = String(request?.url ?? request).endsWith('/.well-known/openid-configuration');
    return isDiscovery ? Promise.resolve({ status: 200, text: 'null' }) : fetchAnything(request);
  }

  return {
    fn: { fetch: fetchAllowed },
    wrapComponents: { KeyHelp: BesideKeys },
    statePlugins: {
      spec: { wrapActions: { updateJsonSpec: onDocument } },
      signIn: {
        actions: {
          learn: (facts) => ({ type: 'sign_in_learn', payload: facts }),
          // Of an answer of the service.
          answered: ({ obj }) => {
            const { state } = system.getSystem().signInSelectors.facts() ?? {};
            if (state === 'signed in' && obj?.code === 'invalid_token') end();
            return { type: 'sign_in_answered' };
          },
        },
        reducers: { sign_in_learn: (state, { payload }) => state.merge(payload) },
        selectors: { facts: (state) => (state.get('state') ? state.toObject() : undefined) },
      },
    },
  };
}
