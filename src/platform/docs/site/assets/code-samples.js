import { copy } from './copy.js';

/** The language that the reader chose last; every panel that is opened later starts with it. */
let preferred = 'curl';

/** Shows the `x-codeSamples` of an operation above its responses, which Swagger UI by itself does not. */
export function codeSamples({ React }) {
  const h = React.createElement;

  function Samples({ id, samples }) {
    const [chosen, choose] = React.useState(preferred);
    const [isCopied, setCopied] = React.useState(false);
    const { source } = samples.find(({ label }) => label === chosen) ?? samples[0];
    const needed = needs(source);
    const take = async () => {
      await copy(source);
      setCopied(true);
      setTimeout(() => setCopied(false), 2_000);
    };
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
        h('fieldset', null, h('legend', null, 'Language'), samples.map(language)),
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
    const samples = (operation?.get('x-codeSamples')?.toJS() ?? []).map(fromHere);
    return h(
      React.Fragment,
      null,
      samples.length > 0 && h(Samples, { id: operation.get('operationId'), samples }),
      h(Responses, props),
    );
  };
  return { wrapComponents: { responses: WithSamples } };
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
