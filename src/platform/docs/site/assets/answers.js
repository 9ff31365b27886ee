import { copier } from './copy.js';
import { enterInBody, nameOfId, takersOf } from './made-ids.js';
import { placeOf } from './panel.js';

/** Indents JSON and keeps every digit: numbers stay the text that they are, as a double does not hold an int64. */
function indent(text) {
  // What a browser without `JSON.rawJSON` cannot indent exactly, it shows as it came.
  if (!JSON.rawJSON) return text;
  const keep = (_key, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);
  return JSON.stringify(JSON.parse(text, keep), null, 2);
}

/** Shows answers as they came over the wire, brings them into sight, and says what can be done next. */
export function answers({ React, getSystem }) {
  const h = React.createElement;
  // The operation whose answer has come and is not shown yet: one that is shown again, with its panel, stays where it is.
  let arrived = '';

  // Swagger UI's own way rounds numbers beyond 2^53.
  const Exact = (ResponseBody) =>
    function Body(props) {
      const { content, contentType } = props;
      const [isCopied, setCopied] = React.useState(false);
      const [copy] = React.useState(() => copier(setCopied));
      if (typeof content !== 'string' || !/json/i.test(contentType)) return h(ResponseBody, props);
      const text = indent(content);
      const button = (label, onClick) => h('button', { type: 'button', className: 'btn', onClick }, label);
      return h(
        'div',
        null,
        h('h5', null, 'Response body'),
        h('pre', { className: 'body', tabIndex: 0, 'aria-label': 'Response body' }, h('code', null, text)),
        button(isCopied ? 'Copied' : 'Copy', () => copy(text)),
        ' ',
        button('Download', () => download(text)),
      );
    };

  const WithMore = (LiveResponse) =>
    function Answer({ response, ...props }) {
      const place = React.useRef(null);
      React.useEffect(() => {
        if (arrived !== `${props.method} ${props.path}`) return;
        arrived = '';
        const { top } = place.current.getBoundingClientRect();
        // At once: what stands above may still change its height, and a slow way there would miss.
        if (top < 0 || top > innerHeight / 2) place.current.scrollIntoView({ behavior: 'instant' });
        // The button that had the focus has been replaced.
        place.current.focus({ preventScroll: true });
      });
      const label = `Answer ${response.get('status') ?? ''}`;
      const look = { ref: place, tabIndex: -1, role: 'group', 'aria-label': label, className: 'live' };
      const link = [response.getIn(['headers', 'link']) ?? ''].flat().join(', ');
      const [, help] = /<([^>]+)>; rel="help"/.exec(link) ?? [];
      return h(
        'div',
        look,
        h(LiveResponse, { ...props, response: explained(response) }),
        // In the page's own site, which may stand behind a prefix.
        help &&
          h(
            'p',
            null,
            h('a', { href: `guides/errors${new URL(help, location.href).hash}` }, 'What to do about it'),
          ),
        h(NextPage, { ...props, link, place }),
        h(NextSteps, { ...props, response }),
      );
    };

  /** Fetches the page after this one of a list: enters the cursor, and presses Execute. */
  const NextPage = ({ path, method, link, place }) => {
    const [, cursor] = /[?&]cursor=([^&>]+)[^>]*>; rel="next"/.exec(link) ?? [];
    const go = () => {
      const { specSelectors, specActions } = getSystem();
      const parameters = specSelectors.specJson().getIn(['paths', path, method, 'parameters']);
      const parameter = parameters.find((one) => one.get('name') === 'cursor');
      specActions.changeParamByIdentity([path, method], parameter, decodeURIComponent(cursor), false);
      const execute = place.current.closest('.opblock').querySelector('.execute');
      requestAnimationFrame(() => execute.click());
    };
    return cursor && h('button', { type: 'button', className: 'btn', onClick: go }, 'Next page');
  };

  /**
   * What can be done next with what was answered: the links of the document, the operations whose body takes its id, and
   * the next of the states that it goes through.
   */
  const NextSteps = ({ specSelectors, ...props }) => {
    const steps = stepsAfter(specSelectors.specJson(), props);
    return (
      steps.length > 0 &&
      h(
        'p',
        { className: 'next-steps' },
        h('b', null, 'Next:'),
        ...steps.map((step) => h(Step, { key: step.operation.get('operationId'), step })),
      )
    );
  };

  const Step = ({ step: { pathMethod, operation, state } }) => {
    const enter = () =>
      state && enterInBody(getSystem(), pathMethod, state.name, JSON.stringify(state.value));
    const text = state ? `Set its ${state.name} to ${state.value}` : operation.get('summary');
    return h('a', { href: placeOf(operation), className: 'btn to-try', onClick: enter }, text);
  };

  const setResponse = (original) => (path, method, response) => {
    arrived = `${method} ${path}`;
    return original(path, method, response);
  };
  return {
    statePlugins: { spec: { wrapActions: { setResponse } } },
    // The samples above have it, with the key masked.
    components: { curl: () => null },
    wrapComponents: { responseBody: Exact, liveResponse: WithMore },
  };
}

function download(text) {
  const href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  Object.assign(document.createElement('a'), { href, download: 'response.json' }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/**
 * Of a request without an answer, Swagger UI says what can be wrong anywhere; here it is nearly always one thing. Headers
 * it takes apart at each comma, also in a date.
 */
function explained(response) {
  if (/^\W*Failed to fetch/.test(response.get('message')))
    return response.set('name', '').set('message', 'There was no answer: is the service still running?');
  const whole = (value) => (typeof value === 'string' ? value : value.join(', '));
  return response.update('headers', (headers) => headers?.map(whole));
}

function stepsAfter(spec, { path, method, response }) {
  const [paths, status] = [spec.get('paths'), response.get('status')];
  if (!(status >= 200 && status < 300) || !paths.hasIn([path, method])) return [];
  const answer = read(response.get('text'));
  if (answer?.id === undefined) return [];
  const links =
    paths
      .getIn([path, method, 'responses', String(status), 'links'])
      ?.keySeq()
      .toArray() ?? [];
  const all = [...paths].flatMap(([one, item]) =>
    [...item].map(([verb, operation]) => ({ pathMethod: [one, verb], operation })),
  );
  const linked = all.filter(
    ({ pathMethod, operation }) =>
      links.includes(operation.get('operationId')) || (pathMethod[0] === path && pathMethod[1] === 'patch'),
  );
  const name = method === 'post' && nameOfId(paths, path);
  const moved = linked.map((one) => ({ ...one, state: nextState(spec, one.operation, answer) }));
  const isOffered = ({ operation, pathMethod: [, verb], state }) =>
    !operation.get('deprecated') && (state || (verb === 'get' && method !== 'get'));
  return [...(name ? takersOf(paths, name) : []), ...moved.filter(isOffered)];
}

/**
 * What a field of an answer becomes next, where an operation sets it: of its values in the order of the document, that
 * after its present one, unless the description of this one says that it is final.
 */
function nextState(spec, operation, answer) {
  const body = resolved(spec, operation.getIn(['requestBody', 'content', 'application/json', 'schema']));
  for (const [name, property] of body?.get('properties') ?? []) {
    const schema = resolved(spec, property);
    const values = schema.get('enum');
    const place = values?.indexOf(answer[name]) ?? -1;
    const meaning = schema.getIn(['x-enumDescriptions', answer[name]]) ?? '';
    const value = place < 0 || /\bFinal\.$/.test(meaning) ? undefined : values.get(place + 1);
    if (value !== undefined) return { name, value };
  }
  return undefined;
}

function resolved(spec, schema) {
  const reference = schema?.get('$ref');
  return reference ? spec.getIn(reference.split('/').slice(1)) : schema;
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
