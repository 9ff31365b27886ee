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
      h('h2', { className: 'only-heard' }, 'Reference'),
      h(
        'details',
        { className: 'error-table', id: 'errors' },
        h('summary', null, h('h3', null, 'Error codes')),
        h(Markdown, { source: breakable(source) }),
      ),
      h(Models, props),
    );
  };
  return { wrapComponents: { Models: WithErrors } };
}

/** Lets a code go on in the next line after an underscore, and nowhere else. */
function breakable(source) {
  return source.replace(/`(\w+)`/g, (_, code) => `<code>${code.replaceAll('_', '_<wbr>')}</code>`);
}
