// Stands beside Swagger UI at `/docs`, and talks to it by its documented interceptors and methods alone: gives a visitor a key
// with one click, takes that of the link in the terminal, and keeps what Swagger UI sends in step with what is done there.
globalThis.petstore = (() => {
  const site = document.createElement('nav');
  site.innerHTML = '<a href="./"></a><a href="guides">Guides</a><a href="reference">Reference</a>';
  site.firstChild.textContent = document.title.split(' · ').at(-1);
  const keys = document.createElement('aside');
  keys.innerHTML = '<p role="status"></p><button type="button" hidden></button>';
  const [status, button] = keys.children;
  Object.assign(site, { className: 'petstore', ariaLabel: 'Site' });
  Object.assign(keys, { className: 'petstore', ariaLabel: 'API key' });
  document.body.prepend(site, keys);

  /** What requests are sent with, as far as it is known here. */
  let key;
  let keyId;
  let account;
  /** The document, once Swagger UI has fetched it, and whether Swagger UI can be told anything yet. */
  let spec;
  let isLoaded = false;
  /** What was said of the key in use. */
  let told = '';
  /** The last request of Swagger UI: what is answered does not say what it was asked. */
  let last = {};

  /** @param action what the button says, and does */
  function say(text, action = ['', undefined]) {
    status.textContent = text;
    [button.textContent, button.onclick] = action;
    button.hidden = !action[1];
  }

  const getKey = ['Get a key', makeKey];
  const needKey = () => say('You need an API key.', getKey);
  /** The first operation that makes something with a key. */
  const first = () =>
    Object.values(spec?.paths ?? {})
      .map(({ post }) => post)
      .find((post) => post?.security?.some((one) => 'bearerAuth' in one))?.summary;
  const next = () => (first() ? ` Open “${first()}” below, and press Execute.` : '');

  /** Has Swagger UI send what is known here. */
  function fillIn() {
    if (!isLoaded) return;
    if (key) ui.preauthorizeApiKey('bearerAuth', key);
    if (account) ui.preauthorizeBasic('basicAuth', account.email, account.password);
  }

  function useKey(text, id, words) {
    [key, keyId] = [text, id];
    fillIn();
    // What to do next is known when the document is.
    told = words;
    say(words + next());
  }

  function useAccount(given, words) {
    account = given;
    fillIn();
    if (words) say(words, key ? undefined : getKey);
  }

  /** @throws Error in words for the reader */
  async function ask(address, authorization, body) {
    const headers = { ...(authorization && { Authorization: authorization }) };
    if (body) headers['Content-Type'] = 'application/json';
    const request = { method: body ? 'POST' : 'GET', headers, credentials: 'omit', redirect: 'error' };
    const response = await fetch(address, { ...request, body: JSON.stringify(body) }).catch(() => {
      throw new Error('There was no answer: is the service still running?');
    });
    const answer = await response.json().catch(() => ({ message: `The answer was ${response.status}.` }));
    if (response.ok) return answer;
    throw Object.assign(new Error(answer.message), { status: response.status });
  }

  const random = (length) =>
    Array.from(crypto.getRandomValues(new Uint8Array(length)), (byte) => (byte % 32).toString(32)).join('');

  /** A new account, and a key of it, by the operations that are there for everybody. */
  async function makeKey() {
    say('Getting a key…');
    const base = spec?.servers[0].url ?? new URL('v1', location.href).href;
    try {
      if (!account) {
        // Nobody can own an address in `.invalid` (RFC 2606), and nobody else knows the password.
        const made = { email: `visitor.${random(8)}@petstore.invalid`, password: random(24) };
        await ask(`${base}/accounts`, undefined, made);
        useAccount(made);
      }
      const login = `Basic ${btoa(`${account.email}:${account.password}`)}`;
      const made = await ask(`${base}/api-keys`, login, { name: 'For Swagger UI' });
      useKey(made.key, made.id, 'A new account and its API key are filled in.');
    } catch ({ message }) {
      say(message, ['Try again', makeKey]);
    }
  }

  /**
   * Takes what a link has for this page out of its address, `docs#start=…`, and exchanges the code of the start for the demo
   * key. The history keeps that address, but its code is good only once. A key in an address is not used: any site can lead
   * here with a key of its own, and would own all that is done with it.
   */
  async function followLink() {
    const [, what, code] = /^#(start|key)=(.*)$/.exec(location.hash) ?? [];
    if (!what) return;
    history.replaceState(history.state, '', location.pathname + location.search);
    const own = key ? undefined : getKey;
    if (what === 'key')
      return say(
        'The link had a key in it, which may be somebody else’s. If it is yours, enter it by Authorize.',
        own,
      );
    try {
      const demo = (await ask('docs/start', `Bearer ${code}`)).key;
      const use = () => useKey(demo, undefined, 'The demo key is filled in.');
      // Not in the place of another one, unasked.
      if (key && key !== demo) say('The link has the demo key for you.', ['Use the demo key', use]);
      else use();
    } catch (error) {
      if (error.status !== 401) return say(error.message, own);
      say('This link has been used: each is good once. Get a key, or enter one by Authorize.', own);
    }
  }

  /** What is asked of Swagger UI's requests: those credentials are in use. */
  function sent(request) {
    last = { ...request };
    // A token endpoint reads its parameters in the body (RFC 6749, 3.2; RFC 8707), and Swagger UI puts some into the address.
    const { tokenUrl } = spec?.components.securitySchemes.openIdConnect?.flows?.authorizationCode ?? {};
    if (tokenUrl && request.url.startsWith(`${tokenUrl}?`))
      request.body += `&${request.url.slice(tokenUrl.length + 1)}`;
    const [, scheme, value] = /^(Bearer|Basic) (.+)$/.exec(request.headers?.Authorization ?? '') ?? [];
    if (scheme === 'Bearer' && value !== key && value.startsWith('petstore_'))
      [key, keyId] = [value, undefined];
    if (scheme === 'Basic') {
      const [email, ...password] = atob(value).split(':');
      account = { email, password: password.join(':') };
    }
    // A 401 of the account operations would have the browser lay a log-in box of its own over the page.
    return Object.assign(request, { credentials: 'omit' });
  }

  function answered(response) {
    if (response.obj?.openapi) spec = response.obj;
    else if (response.url === last.url) follow(last, response);
    return response;
  }

  /** Takes over credentials that are made or changed, and says so where some are refused. */
  function follow({ method, url, body }, { status: code, obj }) {
    const base = spec.servers.find((one) => url.startsWith(one.url))?.url ?? '';
    const step = `${method} ${url.slice(base.length)}`;
    const given = typeof body === 'string' ? read(body) : {};
    if (obj?.code === 'invalid_api_key') {
      key = undefined;
      say('The service refused the key: it was revoked, or is of another service.', getKey);
    } else if (obj?.code === 'invalid_credentials') {
      account = undefined;
      say('The service refused the email and password: enter others by Authorize.');
    } else if (code >= 300) return;
    else if (step === 'POST /accounts')
      useAccount(given, 'Your account is filled in. You need an API key of it.');
    else if (step === 'PATCH /accounts/current')
      useAccount({ ...account, ...given }, given.revokeKeys ? 'Your keys are revoked.' : '');
    else if (step === 'DELETE /accounts/current') {
      [account, key] = [];
      needKey();
    } else if (step === 'DELETE /api-keys/current') {
      key = undefined;
      needKey();
    } else if (step === 'POST /api-keys') offer(obj, !key);
    else if (/^POST \/api-keys\/\d+\/roll$/.test(step))
      offer(obj, !key || url.includes(`/api-keys/${keyId}/`));
  }

  /** One that may do less would otherwise take the place of the reader's, unasked. */
  function offer({ key: made, id }, isUsed) {
    const use = () => useKey(made, id, 'Your new API key is filled in.');
    if (isUsed) use();
    else say('Requests are still sent with the key of before.', ['Use the new key', use]);
  }

  function read(text) {
    try {
      return JSON.parse(text);
    } catch {
      return {};
    }
  }

  function loaded() {
    isLoaded = true;
    fillIn();
    if (!status.textContent) needKey();
    else if (told && !button.onclick) say(told + next());
  }

  void followLink();
  addEventListener('hashchange', followLink);
  return { sent, answered, loaded };
})();
