/** Where this site stands, found from the address of this file. */
const here = new URL('../..', import.meta.url).href.replace(/\/$/, '');

// The samples name the address under which the page was opened.
for (const origin of document.querySelectorAll('.origin')) origin.textContent = here;

// Shows the samples of all operations in the language that is chosen at one.
document.addEventListener('change', ({ target }) => {
  if (!target.closest('.samples')) return;
  for (const choice of document.querySelectorAll('.samples input'))
    choice.checked = choice.value === target.value;
});

/** For how many milliseconds a button says that it has copied. */
const SAID_MS = 2_000;
const timers = new WeakMap();

document.addEventListener('click', async ({ target }) => {
  const button = target.closest?.('.copy');
  const code = button?.closest(':has(pre)').querySelector('code');
  if (!code) return;
  await copy(code.textContent);
  clearTimeout(timers.get(button));
  button.textContent = 'Copied';
  timers.set(
    button,
    setTimeout(() => (button.textContent = 'Copy'), SAID_MS),
  );
});

/** Puts a text on the clipboard, also where the page came over plain HTTP, which has no `navigator.clipboard`. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}
