/**
 * Takes the answer of the identity provider out of the address and hands it to the page that has asked for it, which alone
 * knows its `state`: a channel reaches pages of exactly this origin, and those pages drop an answer that is not theirs.
 */
const answer = location.search.slice(1) || location.hash.slice(1);
history.replaceState(null, '', location.pathname);
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel has no other origin
if (answer) new BroadcastChannel('signed in').postMessage(answer);
close();
