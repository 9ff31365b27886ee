import { useKey } from './credentials.js';
import { makeKey } from './new-key.js';
import { tab, visit, watch } from './visit.js';

const bar = document.querySelector('.next-step');
const [status, button] = ['[role=status]', 'button'].map((one) => bar.querySelector(one));
const help = document.querySelector('.key-help');
const said = document.getElementById('said').content;

function show() {
  const { hasKey, hasAccount, source, refusal, failure, notice, offered, isMaking, made } = visit();
  const isSolved = refusal === 'account_exists' || refusal === 'invalid_credentials';
  const state = hasKey
    ? [source === 'link' ? 'link' : 'key', !made.petId && 'first']
    : [hasAccount ? 'account' : 'nothing'];
  const words = [notice, refusal, ...(isSolved ? [] : state)].filter(Boolean).map(textOf);
  status.replaceChildren(...words.slice(0, notice ? 1 : 0), ...(failure ? [`${failure} `] : []));
  status.append(...words.slice(notice ? 1 : 0));
  bar.classList.toggle('refused', Boolean(refusal || failure));
  bar.classList.toggle('ready', Boolean(hasKey) && !refusal && !failure);
  button.hidden = !offered && (hasKey || hasAccount);
  button.disabled = Boolean(isMaking);
  const use = notice === 'made' ? 'Use the new key' : 'Use the demo key';
  button.textContent = offered ? use : isMaking ? 'Getting a key…' : 'Get a key';
  for (const part of help.querySelectorAll('[data-of]'))
    part.hidden = ![hasKey ? 'key' : 'nothing', hasKey && aboutKey(source)].includes(part.dataset.of);
  const { email, password } = tab.account ?? {};
  help.querySelectorAll('code').forEach((place, i) => (place.textContent = [email, password][i] ?? ''));
}

function aboutKey(source) {
  if (source === 'link') return 'link';
  return source === 'click' && tab.account ? 'click' : 'own';
}

function textOf(name) {
  const text = said.querySelector(`[data-of=${name}]`).cloneNode(true);
  const texts = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replace(/\s+/g, ' ');
  return text;
}

/** Hints say what the reader has to do first, until that is done. */
function showHints() {
  const { hasAccount, made } = visit();
  for (const hint of document.querySelectorAll('.hint'))
    hint.hidden = hint.dataset.until === 'account' ? hasAccount : made[hint.dataset.until] !== undefined;
}

/** Says above the operations which key the page sends, or how to come by one, and keeps the next step in sight. */
export function helpWithKeys() {
  button.addEventListener('click', async () => {
    const { offered, notice } = visit();
    if (offered) useKey(offered, notice === 'made' ? 'own' : 'link');
    else await makeKey();
    // The button, which had the focus, is gone if all went well.
    if (button.hidden) bar.querySelector('a')?.focus();
  });
  for (const one of [show, showHints]) {
    watch(one);
    one();
  }
  // What is gone to stops below it, as it stays at the top and is as high as its text.
  const below = () => (document.documentElement.style.scrollPaddingTop = `${bar.offsetHeight + 12}px`);
  new ResizeObserver(below).observe(bar);
}
