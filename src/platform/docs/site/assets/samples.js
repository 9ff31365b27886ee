/** The root of this site, by the address of this file. */
const here = new URL('../..', import.meta.url).href.replace(/\/$/, '');

// Samples show the origin that the page was opened at.
for (const origin of document.querySelectorAll('.origin')) origin.textContent = here;

// A language chosen at one operation applies to all.
document.addEventListener('change', ({ target }) => {
  if (!target.closest('.samples')) return;
  for (const choice of document.querySelectorAll('.samples input'))
    choice.checked = choice.value === target.value;
});

/** Milliseconds for which a button shows that it has copied. */
const COPIED_MS = 2_000;
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
    setTimeout(() => (button.textContent = 'Copy'), COPIED_MS),
  );
});

/** Copies a text; a page over plain HTTP has no `navigator.clipboard`. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}
