import { enter, inUse } from './credentials.js';

const dialog = document.querySelector('.authorizations');
const form = dialog.querySelector('form');

/** Lets the reader see, enter and clear the key and the account that requests are sent with. */
export function askForCredentials() {
  const now = inUse();
  for (const field of form.querySelectorAll('input')) field.value = now[field.name] ?? '';
  dialog.showModal();
  form.elements.key.select();
}

form.addEventListener('submit', ({ submitter }) => {
  if (submitter.value) enter(Object.fromEntries(new FormData(form)));
});
