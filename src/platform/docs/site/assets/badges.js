const MEANING = {
  beta: 'May still change in details',
  experimental: 'May still change altogether',
};

/** Marks beside the summary of an operation: how stable it is, and until when it is there. */
export function badges({ React, specSelectors }) {
  const badge = (kind, text, title) =>
    React.createElement('span', { className: `badge ${kind}`, title }, text);
  const WithBadges = (Path) => (props) => {
    const [path, method] = ['path', 'method'].map((name) => props.operationProps.get(name));
    const operation = specSelectors.specJson().getIn(['paths', path, method]);
    const stability = operation?.get('x-stability');
    const sunset = operation?.get('x-deprecated-sunset');
    return React.createElement(
      React.Fragment,
      null,
      React.createElement(Path, props),
      React.createElement(
        'span',
        { className: 'badges' },
        stability && badge(stability, stability, MEANING[stability]),
        sunset && badge('deprecated', `deprecated, until ${sunset}`, `Will be removed on ${sunset}`),
      ),
    );
  };
  return { wrapComponents: { OperationSummaryPath: WithBadges } };
}
