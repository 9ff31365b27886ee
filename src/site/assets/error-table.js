/** Lists every error code after the operations, folded up. */
export function errorTable({ React }) {
  const h = React.createElement;
  const WithErrors = (Models) => (props) => {
    const { getComponent, specSelectors } = props;
    const source = specSelectors.specJson().getIn(['components', 'schemas', 'ErrorCode', 'description']);
    if (!source) return h(Models, props);
    const Markdown = getComponent('Markdown', true);
    return h(
      React.Fragment,
      null,
      h(
        'details',
        { className: 'error-table', id: 'errors' },
        h('summary', null, h('h2', null, 'Error codes')),
        h(Markdown, { source }),
      ),
      h(Models, props),
    );
  };
  return { wrapComponents: { Models: WithErrors } };
}
