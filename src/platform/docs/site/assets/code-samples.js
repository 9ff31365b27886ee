import { samplesOf } from './call-samples.js';
import { copier } from './copy.js';
import { callOf, masked } from './live-call.js';

/** The language that the reader chose last; every panel that is opened later starts with it. */
let preferred = 'curl';

/**
 * Shows samples of an operation above its responses: of what its fields hold, or the `x-codeSamples` of the document until
 * they can be sent.
 */
export function codeSamples({ React, getStore, getSystem }) {
  const h = React.createElement;

  function Samples({ path, method, operation }) {
    const [chosen, choose] = React.useState(preferred);
    const [isCopied, setCopied] = React.useState(false);
    const [copy] = React.useState(() => copier(setCopied));
    // As text, which is another one only if the call is.
    const text = React.useSyncExternalStore(getStore().subscribe, () => textOf(getSystem(), path, method));
    const call = text && JSON.parse(text);
    const given = operation.get('x-codeSamples').toJS().map(fromHere);
    const sampleOf = (all) => all.find(({ label }) => label === chosen) ?? all[0];
    const { source } = sampleOf(call ? samplesOf(masked(call)) : given);
    const id = operation.get('operationId');
    const needed = needs(source);
    const take = () => copy(call ? sampleOf(samplesOf(call)).source : source);
    const language = ({ label }) => {
      const select = () => choose((preferred = label));
      const radio = { type: 'radio', name: `sample-${id}`, checked: label === chosen, onChange: select };
      return h('label', { key: label }, h('input', radio), h('span', null, label));
    };
    return h(
      'section',
      { className: 'code-samples', 'aria-label': `Code samples of ${id}` },
      h(
        'div',
        { className: 'opblock-section-header' },
        h('h4', null, 'Code samples'),
        h('fieldset', null, h('legend', null, 'Language'), given.map(language)),
        h('button', { type: 'button', className: 'btn copy', onClick: take }, isCopied ? 'Copied' : 'Copy'),
      ),
      needed.length > 0 && h('p', { className: 'needs' }, 'Set first: ', ...needed.flatMap(asCode), '.'),
      h('pre', { tabIndex: 0, 'aria-label': `${chosen} sample of ${id}` }, h('code', null, source)),
    );
  }

  const asCode = (command, i) => [i > 0 && ', ', h('code', { key: command }, command)];

  const WithSamples = (Responses) => (props) => {
    const { path, method, specSelectors } = props;
    const operation = specSelectors.specJson().getIn(['paths', path, method]);
    return h(
      React.Fragment,
      null,
      operation?.has('x-codeSamples') && h(Samples, { path, method, operation }),
      h(Responses, props),
    );
  };
  return { wrapComponents: { responses: WithSamples } };
}

function textOf(system, path, method) {
  try {
    return JSON.stringify(callOf(system, path, method)) ?? '';
  } catch {
    // Some fields hold what cannot be sent.
    return '';
  }
}

/** The environment variables that samples read, and what they hold. */
const VARIABLES = { API_KEY: 'your API key', EMAIL: 'the email of your account', PASSWORD: 'its password' };

/** What the reader has to set before a sample works, in the shell in which it runs. */
function needs(source) {
  const used = Object.keys(VARIABLES).filter((name) => new RegExp(`\\b${name}\\b`).test(source));
  return used.map((name) => `export ${name}='${VARIABLES[name]}'`);
}

/** A document without addresses of its own names this machine; the page knows where it really came from. */
function fromHere({ source, ...sample }) {
  const here = new URL('v1', location.href).href;
  return { ...sample, source: source.replace(/http:\/\/localhost:\d+\/v1/, () => here) };
}
