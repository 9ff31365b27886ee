/** For how many milliseconds a button says that it has copied. */
const SAID_MS = 2_000;

/** Copies texts for a button. @param say is told when it has to say so, and when no longer: a while after the last copy */
export function copier(say) {
  let timer;
  return async (text) => {
    await copy(text);
    clearTimeout(timer);
    say(true);
    timer = setTimeout(() => say(false), SAID_MS);
  };
}

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
