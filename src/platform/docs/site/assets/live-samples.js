import { samplesOf } from './call-samples.js';
import { callOf, masked } from './live-call.js';
import { showCode } from './samples.js';

/** The environment variables that samples read, and what they hold. */
const VARIABLES = { API_KEY: 'your API key', EMAIL: 'the email of your account', PASSWORD: 'its password' };

/** Keeps the samples of operations to what stands in the fields of their panels. Returns what adds an operation. */
export function followFields(system) {
  const followed = new Set();
  let drawn;
  const show = () => {
    drawn = undefined;
    for (const operation of followed) showCall(system, operation);
  };
  const look = () => (drawn ??= requestAnimationFrame(show));
  system.getStore().subscribe(look);
  return (operation) => {
    followed.add(operation);
    look();
  };
}

function showCall(system, operation) {
  const { path, method } = operation.dataset;
  const call = callIn(system, path, method);
  const codes = operation.querySelectorAll('.samples code');
  if (call) {
    const [shown, copied] = [samplesOf(masked(call)), samplesOf(call)];
    codes.forEach((code, i) => showCode(code, shown[i].source, copied[i].source));
  }
  const used = Object.keys(VARIABLES).filter((name) =>
    new RegExp(`\\b${name}\\b`).test(codes[0]?.textContent),
  );
  const needs = operation.querySelector('.needs');
  if (!needs) return;
  needs.hidden = used.length === 0;
  needs.textContent = `Set first: ${used.map((name) => `export ${name}='${VARIABLES[name]}'`).join(', ')}.`;
}

/** Undefined while fields hold what cannot be sent. */
function callIn(system, path, method) {
  try {
    return callOf(system, path, method);
  } catch {
    return undefined;
  }
}
