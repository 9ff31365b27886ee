import { enterInBody } from './made-ids.js';

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
  const Answered = React.createContext();

  // Swagger UI's own way rounds numbers beyond 2^53.
  const Exact = (ResponseBody) =>
    function Body(props) {
      const { content, contentType } = props;
      const answered = React.useContext(Answered);
      if (typeof content !== 'string' || !/json/i.test(contentType)) return h(ResponseBody, props);
      return h(
        'div',
        null,
        h('h5', null, 'Response body'),
        h(
          'pre',
          { className: 'body', tabIndex: 0, 'aria-label': 'Response body' },
          h('code', null, indent(content)),
        ),
        h('button', { type: 'button', className: 'btn copy' }, 'Copy'),
        h(More, answered),
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
      const shown = h(LiveResponse, { ...props, response: explained(response) });
      return h('div', look, h(Answered.Provider, { value: { ...props, response, place } }, shown));
    };

  /** What to do with an answer stands below its body: on a phone, its headers are a screen of their own. */
  const More = (answered) => {
    const link = [answered.response.getIn(['headers', 'link']) ?? ''].flat().join(', ');
    const [, help] = /<([^>]+)>; rel="help"/.exec(link) ?? [];
    // In the page's own site, which may stand behind a prefix.
    const href = help && `guides/errors${new URL(help, location.href).hash}`;
    return h(
      React.Fragment,
      null,
      href && h('p', null, h('a', { href }, 'What to do about it')),
      h(NextPage, { ...answered, link }),
      h(NextSteps, answered),
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
    return (
      cursor && h('p', null, h('button', { type: 'button', className: 'btn', onClick: go }, 'Next page'))
    );
  };

  /** What can be done next with what was answered. */
  const NextSteps = ({ specSelectors, path, method, response }) => {
    const steps = stepsAfter(specSelectors.specJson().getIn(['paths', path, method, 'x-next']), response);
    return (
      steps.length > 0 &&
      h(
        'p',
        { className: 'row next-steps' },
        h('b', null, 'Next:'),
        ...steps.map((step) => h(Step, { key: step.place, step })),
      )
    );
  };

  const Step = ({ step: { path, method, place, summary, state } }) => {
    const [name, value] = state ?? [];
    const enter = () => state && enterInBody(getSystem(), [path, method], name, JSON.stringify(value));
    const text = state ? `Set its ${name} to ${value}` : summary;
    return h('a', { href: `#${place}`, className: 'btn to-try', onClick: enter }, text);
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

/** Of the steps that the service knows, those which what was answered can take, with the state that each leads to. */
function stepsAfter(steps, response) {
  const isSuccess = response.get('status') >= 200 && response.get('status') < 300;
  const answer = isSuccess ? read(response.get('text')) : undefined;
  if (answer?.id === undefined || !steps) return [];
  const stateIn = (states) =>
    Object.entries(states)
      .map(([name, after]) => [name, after[answer[name]]])
      .find(([, value]) => value !== undefined);
  const all = steps.toJS().map((step) => ({ ...step, state: step.states && stateIn(step.states) }));
  return all.filter(({ states, state }) => !states || state);
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
