/** Marks the fields that the page, or the service, has found to be invalid, and says why under each. */
export function invalid({ React, getSystem }) {
  const h = React.createElement;
  const reasonsOf = (path, method) => reasonsIn(getSystem().specSelectors.responseFor(path, method));

  /** Says why the element before it is invalid, and has its fields refer to that (WCAG 3.3.1). */
  function Reason({ of, about, reasons, children }) {
    const place = React.useRef(null);
    const id = `why-${about.join('-')}`.replaceAll(/\W+/g, '-');
    React.useEffect(() => {
      const fields = [...place.current.previousElementSibling.querySelectorAll('input, select, textarea')];
      for (const field of fields) {
        field.ariaInvalid = 'true';
        field.setAttribute('aria-describedby', id);
      }
      return () => fields.forEach(unmark);
    });
    const text = `${reasons.join('; ').replace(/\.$/, '')}.`;
    return h(
      of,
      { ref: place, className: 'invalid-reason' },
      children,
      h(of === 'tr' ? 'td' : 'span', { id }, text),
    );
  }

  const MarkedRow = (Row) => (props) => {
    const { pathMethod, rawParam, specSelectors } = props;
    const name = rawParam.get('name');
    const found = specSelectors.parameterWithMetaByIdentity(pathMethod, rawParam)?.get('errors');
    const refused = reasonsOf(...pathMethod)[name];
    const reasons = refused ? [refused] : (found?.toJS() ?? []).map((one) => one.error ?? one);
    const about = [...pathMethod, name];
    return h(
      React.Fragment,
      null,
      h(Row, props),
      reasons.length > 0 && h(Reason, { of: 'tr', about, reasons }, h('td')),
    );
  };

  const MarkedBody = (RequestBody) => (props) => {
    // A webhook has a body too.
    const [part, path, method] = props.specPath.toJS();
    const operation = getSystem().specSelectors.specJson().getIn([part, path, method]);
    const parameters = new Set(operation.get('parameters')?.map((one) => one.get('name')));
    const others = Object.entries(reasonsOf(path, method)).filter(([name]) => !parameters.has(name));
    const reasons = others.map(([, reason]) => reason);
    return h(
      React.Fragment,
      null,
      h('div', null, h(RequestBody, props)),
      reasons.length > 0 && h(Reason, { of: 'p', about: [path, method], reasons }),
    );
  };

  /** An answer of before would look like that to what is not even sent. */
  const validateParams =
    (original, { specSelectors, specActions }) =>
    (pathMethod, isOAS3) => {
      const result = original(pathMethod, isOAS3);
      if (!specSelectors.validateBeforeExecute(pathMethod)) specActions.clearResponse(...pathMethod);
      return result;
    };

  return {
    statePlugins: { spec: { wrapActions: { validateParams } } },
    wrapComponents: { parameterRow: MarkedRow, RequestBody: MarkedBody },
  };
}

function unmark(field) {
  field.ariaInvalid = null;
  field.removeAttribute('aria-describedby');
}

/** Why the service has refused a request, by the field that each reason begins with. */
function reasonsIn(response) {
  if (response?.get('status') !== 400) return {};
  const { code, message } = JSON.parse(response.get('text'));
  if (code === 'invalid_cursor') return { cursor: message };
  if (code !== 'validation_failed') return {};
  return Object.fromEntries(message.split('; ').map((reason) => [/^[\w-]*/.exec(reason)[0], reason]));
}
