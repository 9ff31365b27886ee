import { copier } from './copy.js';

/** Where this site stands, found from the address of this file. */
const here = new URL('../..', import.meta.url).href.replace(/\/$/, '');

// The samples name the address under which the page was opened.
for (const origin of document.querySelectorAll('.origin')) origin.textContent = here;

for (const figure of document.querySelectorAll('figure.to-copy')) {
  const button = document.createElement('button');
  Object.assign(button, { type: 'button', className: 'button small', textContent: 'Copy' });
  const copy = copier((isCopied) => (button.textContent = isCopied ? 'Copied' : 'Copy'));
  button.addEventListener('click', () => copy(figure.querySelector('code').textContent));
  figure.querySelector('figcaption').append(button);
}
