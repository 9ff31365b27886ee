/** Swagger UI and what the page adds to it, asked for once. */
let coming;

/**
 * Opens the panel of an operation, in which Swagger UI sends requests, or closes it.
 * @param isGoneTo whether the reader comes from elsewhere on the page
 */
export async function tryOut(operation, { isGoneTo = false } = {}) {
  const trial = operation.querySelector('.trial');
  const button = trial.querySelector('.try');
  const panel = trial.querySelector('.swagger-ui') ?? (await open(trial, button));
  if (!panel) return;
  panel.hidden = !isGoneTo && button.ariaExpanded === 'true';
  button.ariaExpanded = String(!panel.hidden);
  button.textContent = panel.hidden ? 'Try it out' : 'Close';
  if (!isGoneTo) return;
  operation.scrollIntoView();
  button.focus({ preventScroll: true });
}

async function open(trial, button) {
  trial.querySelector('.trouble')?.remove();
  const panel = Object.assign(document.createElement('div'), { className: 'swagger-ui' });
  // The room that it takes, so that what stands below moves once.
  panel.style.minHeight = `${trial.closest('.operation').dataset.rem}rem`;
  button.disabled = true;
  button.textContent = 'Opening…';
  try {
    trial.append(panel);
    const { show } = await (coming ??= load());
    show(panel);
    return panel;
  } catch {
    coming = undefined;
    panel.remove();
    const text = 'The panel could not be loaded: is the service still running?';
    const trouble = { className: 'trouble', role: 'alert', textContent: text };
    trial.append(Object.assign(document.createElement('p'), trouble));
    button.textContent = 'Try it out';
    return undefined;
  } finally {
    button.disabled = false;
  }
}

/** Swagger UI's own system, which is loaded for it. */
export async function swaggerUI() {
  return (await (coming ??= load())).system;
}

async function load() {
  const [{ begin }, response] = await Promise.all([
    import('./swagger.js'),
    fetch('docs/trial.json'),
    script(),
  ]);
  return begin(await response.text());
}

function script() {
  // A part of the bundle would take over links within the page, and stop beneath the line that stays at the top.
  globalThis.noZensmooth = true;
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement('script'), { src: bundle() });
    element.addEventListener('load', resolve);
    element.addEventListener('error', reject);
    document.head.append(element);
  });
}

function bundle() {
  return new URL('swagger-ui-bundle.js', import.meta.url).href;
}
