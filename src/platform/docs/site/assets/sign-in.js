import { ask } from './ask.js';
import { newRequest } from './authorization-code.js';
import { server } from './credentials.js';
import { swaggerUI } from './try.js';

const SCHEME = 'openIdConnect';
/** The longest time that a browser waits. */
const LONGEST_MS = 2 ** 31 - 1;

const SAYS = {
  ready: () => 'Or sign in with your company’s account.',
  away: (message) => `Signing in is not possible now. ${message}`,
  blocked: () => 'The browser has not opened the window to sign in: allow it to, and try again.',
  waiting: () => 'Sign in in the window that has opened.',
  refused: (message) => message,
  ended: () => 'You are no longer signed in: your access token has ended.',
  'signed in': (email) =>
    `You are signed in${email ? ` as ${email}` : ''}: requests are sent with your access token.`,
};

/**
 * Lets the reader sign in at the identity provider of the service, where that has a client for this page. The access token
 * is in Swagger UI's state alone, so in no storage and no address, and ends with the page; requests are sent with the token
 * as long as it is there, whatever key is filled in too.
 */
const bar = document.querySelector('.sign-in');
const [status, button] = ['[role=status]', 'button'].map((one) => bar.querySelector(one));
let state;
/** That which the next press of the button opens: a browser opens a window only at once. */
let next;
/** Those that a window may still answer. */
const open = new Set();
let expiry;

function say(now, message = '') {
  state = now;
  status.textContent = SAYS[now](message);
  button.textContent = now === 'signed in' ? 'Sign out' : now === 'away' ? 'Try again' : 'Sign in';
  button.hidden = false;
  bar.classList.toggle('ready', now === 'signed in');
  bar.classList.toggle('refused', ['refused', 'away', 'ended'].includes(now));
  // Signing in does without the help about keys.
  for (const one of document.querySelectorAll('.next-step, .key-help')) one.hidden = now === 'signed in';
}

async function prepare() {
  next = undefined;
  try {
    next = await newRequest();
    say('ready');
  } catch ({ message }) {
    say('away', message);
  }
}

function openWindow() {
  const request = next;
  const opened = window.open(request.address, '_blank', 'popup,width=520,height=720');
  say(opened ? 'waiting' : 'blocked');
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
    await use(await request.redeem(answer));
  } catch ({ message }) {
    say('refused', message);
  }
}

async function use({ token, seconds }) {
  const ui = await swaggerUI();
  const schema = ui.specSelectors.specJson().getIn(['components', 'securitySchemes', SCHEME]).toJS();
  // By the action of OAuth: that of keys takes nothing of this type.
  ui.authActions.authorizeOauth2({
    auth: { name: SCHEME, schema },
    token: { access_token: token, token_type: 'bearer' },
  });
  clearTimeout(expiry);
  if (seconds) expiry = setTimeout(() => leave('ended'), Math.min(seconds * 1_000, LONGEST_MS));
  say('signed in');
  await introduce(token);
}

/** Says whose account requests now are, or why the service does not take the token. */
async function introduce(token) {
  try {
    const { email } = await ask(`${server()}/accounts/current`, { authorization: `Bearer ${token}` });
    if (!email.endsWith('@identity.invalid')) say('signed in', email);
  } catch (error) {
    if (error.status) await leave('refused', error.message);
  }
}

async function leave(now, message = '') {
  clearTimeout(expiry);
  const ui = await swaggerUI();
  ui.authActions.logout([SCHEME]);
  say(now, message);
}

button.addEventListener('click', () => {
  if (state === 'signed in') void leave('ready');
  else if (next) openWindow();
  else void prepare();
});
new BroadcastChannel('signed in').addEventListener('message', ({ data }) => void answered(String(data)));
// Of an answer of the service.
addEventListener('answered', ({ detail }) => {
  if (state === 'signed in' && detail?.code === 'invalid_token') void leave('ended');
});
void prepare();
