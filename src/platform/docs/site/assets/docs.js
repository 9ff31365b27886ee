// Runs beside Swagger UI at `/docs`, by its documented interceptors and methods alone: gives a visitor a key with one
// click, redeems the link of the terminal, and keeps the credentials of Swagger UI in step with its requests.
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

  /** The credentials of requests, as far as the script knows them. */
  let key;
  let keyId;
  let account;
  /** The document, once Swagger UI has fetched it. */
  let spec;
  /** Whether the methods of Swagger UI can be called. */
  let isLoaded = false;
  let keyMessage = '';
  /** The last request of Swagger UI: an answer does not name its request. */
  let last = {};

  /** @param action label and function of the button */
  function say(text, action = ['', undefined]) {
    status.textContent = text;
    [button.textContent, button.onclick] = action;
    button.hidden = !action[1];
  }

  const getKey = ['Get a key', makeKey];
  const needKey = () => say('You need an API key.', getKey);
  /** The first operation that creates something with a key. */
  const first = () =>
    Object.values(spec?.paths ?? {})
      .map(({ post }) => post)
      .find((post) => post?.security?.some((scheme) => 'bearerAuth' in scheme))?.summary;
  const next = () => (first() ? ` Open “${first()}” below, and press Execute.` : '');

  function fillIn() {
    if (!isLoaded) return;
    if (key) ui.preauthorizeApiKey('bearerAuth', key);
    if (account) ui.preauthorizeBasic('basicAuth', account.email, account.password);
  }

  function useKey(text, id, words) {
    [key, keyId] = [text, id];
    fillIn();
    // The next step depends on the document, which may come later.
    keyMessage = words;
    say(words + next());
  }

  function useAccount(credentials, words) {
    account = credentials;
    fillIn();
    if (words) say(words, key ? undefined : getKey);
  }

  /** @throws Error with a message for the reader */
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

  /** Creates an account, and a key of it, by public operations. */
  async function makeKey() {
    say('Getting a key…');
    const base = spec?.servers[0].url ?? new URL('v1', location.href).href;
    try {
      if (!account) {
        // `.invalid` is nobody's (RFC 2606), and the password is random.
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
   * Exchanges the code of a link, `docs#start=…`, for the demo key, and removes the code from the address. The history
   * keeps the address, but its code is good only once. A key in an address is not used: any site could lead here with a key
   * of its own, and would own everything done with it.
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
      // A key in use is replaced only on demand.
      if (key && key !== demo) say('The link has the demo key for you.', ['Use the demo key', use]);
      else use();
    } catch (error) {
      if (error.status !== 401) return say(error.message, own);
      say('This link has been used: each is good once. Get a key, or enter one by Authorize.', own);
    }
  }

  /** Observes a request of Swagger UI, whose credentials are in use. */
  function sent(request) {
    last = { ...request };
    // A token endpoint reads parameters in the body (RFC 6749, 3.2; RFC 8707), but Swagger UI puts some into the address.
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
    // Without `omit`, a 401 of an account operation opens the log-in box of the browser.
    return Object.assign(request, { credentials: 'omit' });
  }

  function answered(response) {
    if (response.obj?.openapi) spec = response.obj;
    else if (response.url === last.url) follow(last, response);
    return response;
  }

  /** Adopts credentials that a request creates or changes, and reports refused ones. */
  function follow({ method, url, body }, { status: code, obj }) {
    const base = spec.servers.find((server) => url.startsWith(server.url))?.url ?? '';
    const step = `${method} ${url.slice(base.length)}`;
    const fields = typeof body === 'string' ? read(body) : {};
    if (obj?.code === 'invalid_api_key') {
      key = undefined;
      say('The service refused the key: it was revoked, or is of another service.', getKey);
    } else if (obj?.code === 'invalid_credentials') {
      account = undefined;
      say('The service refused the email and password: enter others by Authorize.');
    } else if (code >= 300) return;
    else if (step === 'POST /accounts')
      useAccount(fields, 'Your account is filled in. You need an API key of it.');
    else if (step === 'PATCH /accounts/current')
      useAccount({ ...account, ...fields }, fields.revokeKeys ? 'Your keys are revoked.' : '');
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

  /** A new key may have fewer permissions, so it replaces the key in use only on demand. */
  function offer({ key: made, id }, isUsed) {
    const use = () => useKey(made, id, 'Your new API key is filled in.');
    if (isUsed) use();
    else say('Requests still use the earlier key.', ['Use the new key', use]);
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
    else if (keyMessage && !button.onclick) say(keyMessage + next());
  }

  void followLink();
  addEventListener('hashchange', followLink);
  return { sent, answered, loaded };
})();
