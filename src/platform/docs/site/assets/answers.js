/** Indents JSON and keeps every digit: numbers stay the text that they are, as a double does not hold an int64. */
export function indent(text) {
  // What a browser without `JSON.rawJSON` cannot indent exactly, it shows as it came.
  if (!JSON.rawJSON) return text;
  const keep = (_key, value, { source }) => (typeof value === 'number' ? JSON.rawJSON(source) : value);
  return JSON.stringify(JSON.parse(text, keep), null, 2);
}

/** Shows answers as they came over the wire, and brings them into sight. */
export function answers({ React }) {
  const h = React.createElement;
  // The operation whose answer has come and is not shown yet: one that is shown again, with its panel, stays where it is.
  let answered = '';

  // Swagger UI's own way rounds numbers beyond 2^53.
  const Exact = (ResponseBody) => (props) => {
    const { content, contentType, getComponent } = props;
    if (typeof content !== 'string' || !/json/i.test(contentType)) return h(ResponseBody, props);
    const Code = getComponent('HighlightCode', true);
    const look = { language: 'json', downloadable: true, fileName: 'response.json', canCopy: true };
    return h('div', null, h('h5', null, 'Response body'), h(Code, look, indent(content)));
  };

  const InSight = (LiveResponse) =>
    function Answer({ response, ...props }) {
      const place = React.useRef(null);
      React.useEffect(() => {
        if (answered !== `${props.method} ${props.path}`) return;
        answered = '';
        const table = place.current.querySelector('.live-responses-table');
        const { top } = table.getBoundingClientRect();
        // At once: what stands above may still change its height, and a slow way there would miss.
        if (top < 0 || top > innerHeight / 2)
          // With its heading.
          table.previousElementSibling.scrollIntoView({ behavior: 'instant' });
        // The button that had the focus has been replaced.
        place.current.focus({ preventScroll: true });
      });
      const label = `Answer ${response.get('status') ?? ''}`;
      const look = { ref: place, tabIndex: -1, role: 'group', 'aria-label': label, className: 'answer' };
      return h('div', look, h(LiveResponse, { ...props, response: explained(response) }));
    };

  const setResponse = (original) => (path, method, response) => {
    answered = `${method} ${path}`;
    return original(path, method, response);
  };
  return {
    statePlugins: { spec: { wrapActions: { setResponse } } },
    // The samples above have it, with the key masked.
    components: { curl: () => null },
    wrapComponents: { responseBody: Exact, liveResponse: InSight },
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
