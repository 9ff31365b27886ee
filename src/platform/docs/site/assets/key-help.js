import { operationLink } from './navigation.js';

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

  const status = ({ hasKey, isDemo, hasAccount, hasPet }) => {
    if (!hasKey && hasAccount) return ['Your account is filled in. Next: ', key('Create an API key')];
    if (!hasKey) return ['You need an API key. Next: ', account('Create an account')];
    const filledIn = `${isDemo ? 'A demo key' : 'Your API key'} is filled in.`;
    return hasPet ? [filledIn] : [filledIn, ' Next: ', pet()];
  };

  const steps = (hasAccount) => [
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
  const demo = [
    'The operations on ',
    h('i', null, 'accounts'),
    ' need an account, not a key: ',
    account('create one'),
    ', and the page enters its email and password. Only this machine gets the demo key, for as long as the data of the service is kept.',
  ];
  const own = ['Keep a copy of your key, as it is never shown again: this tab forgets it when you close it.'];

  const Help = ({ authSelectors, visitSelectors }) => {
    const authorized = authSelectors.authorized();
    const [hasKey, hasAccount] = ['bearerAuth', 'basicAuth'].map((name) => authorized.has(name));
    const [isDemo, refusal] = [visitSelectors.isDemo(), visitSelectors.refusal()];
    const state = status({ hasKey, isDemo, hasAccount, hasPet: visitSelectors.made('petId') });
    const isSolved = refusal === 'account_exists' || refusal === 'invalid_credentials' ? [] : state;
    const look = refusal ? 'refused' : hasKey ? 'ready' : '';
    return h(
      React.Fragment,
      null,
      h(
        'section',
        { className: `next-step ${look}`, 'aria-label': 'Next step' },
        h('p', { role: 'status' }, ...(refusals[refusal] ?? []), ...isSolved),
      ),
      h(
        'section',
        { className: 'key-help', 'aria-label': 'How to start' },
        ...(hasKey ? [h('p', null, ...start, ...(isDemo ? demo : own))] : steps(hasAccount)),
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
