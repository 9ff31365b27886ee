import { finderOf } from './search-index.js';

/** Where this site stands, found from the address of this file. */
const root = new URL('../..', import.meta.url);
const MOST = 8;

const form = document.querySelector('.search');
const field = form.querySelector('input');
const [status, list] = ['[role=status]', '#found'].map((one) => form.querySelector(one));

/** Loaded when the reader first goes to the field. */
let loading;
const load = () =>
  (loading ??= Promise.all([import('./minisearch.js'), entries()]).then(
    ([{ default: MiniSearch }, found]) => {
      return finderOf(MiniSearch, found);
    },
  ));

async function entries() {
  const response = await fetch(new URL('search.json', root));
  if (!response.ok) throw new Error(`The index was answered with ${response.status}`);
  return response.json();
}

async function show() {
  const words = field.value.trim();
  if (!words) return close();
  try {
    const find = await load();
    if (words === field.value.trim()) list.replaceChildren(...find(words).slice(0, MOST).map(toItem));
  } catch {
    loading = undefined;
    list.replaceChildren();
    status.textContent = 'The search could not be loaded.';
    return;
  }
  const { length } = list.children;
  if (length === 0)
    list.append(Object.assign(document.createElement('li'), { textContent: 'Nothing found' }));
  status.textContent = length === 0 ? 'Nothing found' : `${length} found. Go to them with the arrow keys.`;
  list.hidden = false;
}

function toItem({ address, kind, title, about }) {
  const [item, link] = ['li', 'a'].map((name) => document.createElement(name));
  const part = (name, text) => Object.assign(document.createElement(name), { textContent: text });
  link.href = new URL(address, root);
  link.append(part('b', title), part('i', kind), part('small', about));
  link.addEventListener('click', close);
  item.append(link);
  return item;
}

function close() {
  list.hidden = true;
  status.textContent = '';
}

/** Goes from the field through what was found, and back. */
function move(step) {
  const stops = [field, ...list.querySelectorAll('a')];
  const next = stops.indexOf(document.activeElement) + step;
  stops[Math.max(0, Math.min(next, stops.length - 1))].focus();
}

field.addEventListener('focus', () => void load().catch(() => (loading = undefined)), { once: true });
field.addEventListener('input', () => void show());
form.addEventListener('submit', (event) => {
  event.preventDefault();
  void show().then(() => list.querySelector('a')?.click());
});
form.addEventListener('keydown', (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    move(step);
  } else if (event.key === 'Escape') {
    close();
    field.focus();
  }
});
document.addEventListener('focusin', ({ target }) => form.contains(target) || close());
document.addEventListener('pointerdown', ({ target }) => form.contains(target) || close());
document.addEventListener('keydown', (event) => {
  const isTyped = event.target.closest?.('input, textarea, select, [contenteditable]');
  if (event.key !== '/' || isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  field.focus();
});
