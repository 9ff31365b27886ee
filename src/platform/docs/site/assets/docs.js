import { askForCredentials } from './authorize.js';
import { chooseLanguage } from './samples.js';
import { followPlace } from './place.js';
import { followLink } from './new-key.js';
import { helpWithKeys } from './start.js';
import { tryOut } from './try.js';

helpWithKeys();
void followLink();
addEventListener('hashchange', followLink);
followPlace();

document.addEventListener('click', ({ target }) => {
  const button = target.closest?.('.try');
  if (button) void tryOut(button.closest('.operation'));
  if (target.closest?.('.authorize')) askForCredentials();
  const link = target.closest?.('a.to-try');
  if (link) void tryOut(document.getElementById(link.hash.slice(1)), { isGoneTo: true });
  target.closest?.('.menu a')?.closest('details').removeAttribute('open');
});
document.addEventListener('change', ({ target }) => {
  if (target.closest('.samples')) chooseLanguage(target.value);
});
if (document.querySelector('.sign-in')) void import('./sign-in.js');
