// Adds the button *Get a key* to Swagger UI, by its documented methods. Keys stay in the memory of the page.
const bar = document.createElement('section');
Object.assign(bar, { className: 'swagger-ui', ariaLabel: 'API key' });
bar.innerHTML = `<div class="topbar"><div class="wrapper"><div class="topbar-wrapper">
  <button class="btn authorize" type="button">Get a key</button><span class="white" role="status"></span>
</div></div></div>`;
const [button, status] = bar.querySelector('.topbar-wrapper').children;
button.addEventListener('click', async () => {
  status.textContent = 'Getting a key…';
  try {
    status.textContent = await getKey(ui.oas3Selectors.selectedServer());
  } catch ({ message }) {
    status.textContent = message;
  }
});
document.body.prepend(bar);

/**
 * Creates an account and an API key of the account at a server, and fills both in.
 * @throws Error with a message for the reader
 */
async function getKey(server) {
  // Nobody else can use the account: nobody owns `.invalid` (RFC 2606), and the password is random.
  const account = { email: `visitor.${random(8)}@petstore.invalid`, password: random(24) };
  await post(`${server}/accounts`, account);
  const login = `Basic ${btoa(`${account.email}:${account.password}`)}`;
  const { key } = await post(`${server}/api-keys`, { name: 'For Swagger UI' }, { Authorization: login });
  ui.preauthorizeBasic('basicAuth', account.email, account.password);
  ui.preauthorizeApiKey('bearerAuth', key);
  return `A new account at ${server} and its API key are filled in.`;
}

async function post(address, body, headers) {
  const response = await fetch(address, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    credentials: 'omit',
    redirect: 'error',
  }).catch(() => {
    throw new Error(`There was no answer from ${address}.`);
  });
  const answer = await response.json().catch(() => ({ message: `The answer was ${response.status}.` }));
  if (!response.ok) throw new Error(answer.message);
  return answer;
}

function random(length) {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(bytes, (byte) => (byte % 32).toString(32)).join('');
}
