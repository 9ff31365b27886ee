import { useKey } from './credentials.js';
import { operationLink } from './navigation.js';
import { makeKey } from './new-key.js';
import { tab } from './tab.js';

/** Says above the operations which key the page sends, or how to come by one, and keeps the next step in sight. */
export function keyHelp(system) {
  const { React } = system;
  const h = React.createElement;
  const account = (text) => operationLink(system, 'accounts', 'createAccount', text);
  const key = (text) => operationLink(system, 'accounts', 'createApiKey', text);
  const pet = () => operationLink(system, 'pets', 'createPet', 'Add an animal');
  const execute = h('b', null, 'Execute');
  const authorize = h('b', null, 'Authorize');

  const refusals = {
    account_exists: ['This email has an account: enter another one, or press ', authorize, ' to log in.'],
    invalid_credentials: [
      'No account has this email and password. ',
      account('Create an account'),
      ', or press ',
      authorize,
      ' and enter those of yours.',
    ],
    invalid_api_key: ['The service refused the key: it was revoked, or is of another service. '],
  };

  const notices = {
    used: [
      'This link has been used: each is good once. The demo key is in the terminal too: press ',
      authorize,
      ' and enter it. ',
    ],
    foreign: [
      'The link had a key in it, which this page did not take: whoever made that key would own what you do. Is it yours? Press ',
      authorize,
      ' and enter it. ',
    ],
    made: ['Your new key is not in use: requests are still sent with the one of before. '],
    offered: ['The link has the demo key for you. '],
    failed: ['The demo key of the link could not be fetched: is the service still running? '],
  };

  const status = ({ hasKey, source, hasAccount, hasPet }) => {
    if (!hasKey && hasAccount) return ['Your account is filled in. Next: ', key('Create an API key')];
    if (!hasKey) return ['You need an API key.'];
    const filledIn = `${source === 'link' ? 'The key of your link' : 'Your API key'} is filled in.`;
    return hasPet ? [filledIn] : [filledIn, ' Next: ', pet()];
  };

  // The button, which had the focus, is gone if all went well.
  const goOn = () => document.querySelector('.next-step :is(button, a)')?.focus();

  const Offer = ({ offered, isOwn }) => {
    const take = () => {
      useKey(system.getSystem(), offered, isOwn ? 'own' : 'link');
      goOn();
    };
    const look = { type: 'button', className: 'make-key', onClick: take };
    return h('button', look, isOwn ? 'Use the new key' : 'Use the demo key');
  };

  const Maker = ({ isMaking }) => {
    const make = async () => {
      await makeKey(system.getSystem());
      goOn();
    };
    const look = { type: 'button', className: 'make-key', onClick: make, disabled: isMaking };
    return h('button', look, isMaking ? 'Getting a key…' : 'Get a key');
  };

  const oneClick = h(
    'p',
    null,
    h('b', null, 'Get a key'),
    ' makes a new account and a key of it, and fills both in. Or do it yourself:',
  );
  const steps = (hasAccount) => [
    !hasAccount && oneClick,
    h(
      'ol',
      null,
      h(
        'li',
        { className: hasAccount ? 'done' : undefined },
        account('Create an account'),
        ': press ',
        execute,
        '. The email and password are only examples.',
      ),
      h(
        'li',
        null,
        key('Create an API key'),
        ': press ',
        execute,
        '. The page sends your email and password.',
      ),
      h('li', null, 'Open any operation from ', h('i', null, 'pets'), ' on: the page sends your new key.'),
    ),
    h('p', null, 'You have an account or a key already? Press ', authorize, ' and enter it.'),
  ];

  const start = [
    'Open any operation from ',
    h('i', null, 'pets'),
    ' on and press ',
    execute,
    '. Begin with ',
    pet(),
    ': the page enters the id of what you make wherever it is asked for. ',
  ];
  const linked = [
    'The operations on ',
    h('i', null, 'accounts'),
    ' need an account, not a key: ',
    account('create one'),
    ', and the page enters its email and password. Whoever has the demo key may do what you may.',
  ];
  const clicked = () => [
    'This tab forgets your new account when you close it. Its email is ',
    h('code', null, tab.account?.email),
    ', its password ',
    h('code', null, tab.account?.password),
    '.',
  ];
  const about = (source) =>
    source === 'link' ? linked : source === 'click' && tab.account ? clicked() : own;
  const own = ['Keep a copy of your key, as it is never shown again: this tab forgets it when you close it.'];

  /** What is gone to stops below the next step, which stays at the top and is as high as its text. */
  const keepInSight = (step) => {
    if (!step) return;
    const below = () => (document.documentElement.style.scrollPaddingTop = `${step.offsetHeight + 12}px`);
    new ResizeObserver(below).observe(step);
  };

  const Help = ({ authSelectors, visitSelectors }) => {
    const authorized = authSelectors.authorized();
    const [hasKey, hasAccount] = ['bearerAuth', 'basicAuth'].map((name) => authorized.has(name));
    const [source, refusal] = [visitSelectors.source(), visitSelectors.refusal()];
    const [isMaking, failure] = [visitSelectors.isMaking(), visitSelectors.failure()];
    const [notice, offered] = [visitSelectors.notice(), visitSelectors.offered()];
    const state = status({ hasKey, source, hasAccount, hasPet: visitSelectors.made('petId') });
    const isSolved = refusal === 'account_exists' || refusal === 'invalid_credentials' ? [] : state;
    const look = refusal || failure ? 'refused' : hasKey ? 'ready' : '';
    return h(
      React.Fragment,
      null,
      h(
        'section',
        { className: `next-step ${look}`, 'aria-label': 'Next step', ref: keepInSight },
        h(
          'p',
          { role: 'status' },
          ...(notices[notice] ?? []),
          ...(refusals[refusal] ?? []),
          failure && `${failure} `,
          ...isSolved,
        ),
        offered && h(Offer, { offered, isOwn: notice === 'made' }),
        !hasKey && !hasAccount && h(Maker, { isMaking }),
      ),
      h(
        'section',
        { className: 'key-help', 'aria-label': 'How to start' },
        ...(hasKey ? [h('p', null, ...start, ...about(source))] : steps(hasAccount)),
      ),
    );
  };

  const WithHelp = (BaseLayout) => (props) => {
    const Shown = props.getComponent('KeyHelp', true);
    const isThere = props.specSelectors.specStr() && props.specSelectors.loadingStatus() === 'success';
    return h('div', null, isThere && h(Shown), h(BaseLayout, props));
  };
  return { components: { KeyHelp: Help }, wrapComponents: { BaseLayout: WithHelp } };
}
