import { copy } from './copy.js';

// The commands name the address under which the page was opened.
document.getElementById('base').textContent = new URL('v1', location.href).href;

const button = document.getElementById('copy');
button.addEventListener('click', async () => {
  await copy(document.getElementById('commands').textContent);
  button.textContent = 'Copied';
  setTimeout(() => (button.textContent = 'Copy'), 2_000);
});
