import { copier } from './copy.js';

/** Where this site stands, found from the address of this file. */
const here = new URL('../..', import.meta.url).href.replace(/\/$/, '');

// The samples name the address under which the page was opened.
for (const origin of document.querySelectorAll('.origin')) origin.textContent = here;

/** Those that are copied otherwise than they are shown: with what the reader's neighbours should not see. */
const whole = new WeakMap();

/** Shows other code in its place. */
export function showCode(code, source, copied) {
  if (code.textContent !== source) code.textContent = source;
  whole.set(code, copied);
}

/** Shows the samples of all operations in one language. */
export function chooseLanguage(language) {
  for (const choice of document.querySelectorAll('.samples input'))
    choice.checked = choice.value === language;
}

for (const figure of document.querySelectorAll('figure.to-copy')) {
  const button = document.createElement('button');
  Object.assign(button, { type: 'button', className: 'button small', textContent: 'Copy' });
  const copy = copier((isCopied) => (button.textContent = isCopied ? 'Copied' : 'Copy'));
  const code = figure.querySelector('code');
  button.addEventListener('click', () => copy(whole.get(code) ?? code.textContent));
  figure.querySelector('figcaption').append(button);
}
