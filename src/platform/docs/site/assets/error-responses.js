/** Lists the errors of an operation one a line, folded up below its success: each with its example and headers. */
export function errorResponses({ React }) {
  const h = React.createElement;

  function Line({ status, source, Markdown, children }) {
    const [isOpen, setOpen] = React.useState(false);
    return h(
      'details',
      { className: 'error', onToggle: (event) => setOpen(event.currentTarget.open) },
      h('summary', null, h('b', null, status), h(Markdown, { source })),
      // Made only when asked for: it takes longer than all the rest of a panel.
      isOpen && h('table', { className: 'responses-table' }, h('tbody', null, children())),
    );
  }

  const WithErrors = (Responses) => (props) => {
    const { responses, getComponent, specPath, path, method, producesValue, oas3Selectors } = props;
    const Markdown = getComponent('Markdown', true);
    const Response = getComponent('response');
    const isError = (_response, status) => status >= '400';
    const line = ([status, response]) => {
      const more = { code: status, response, specPath: specPath.push(status), contentType: producesValue };
      const activeExamplesKey = oas3Selectors.activeExamplesMember(path, method, 'responses', status);
      return h(Line, {
        key: status,
        status,
        source: response.get('description'),
        Markdown,
        children: () => h(Response, { ...props, ...more, activeExamplesKey }),
      });
    };
    const errors = responses.filter(isError);
    return h(
      React.Fragment,
      null,
      h(Responses, { ...props, responses: responses.filterNot(isError) }),
      h(
        'details',
        { className: 'errors' },
        h('summary', null, h('h4', null, 'Errors'), ` ${errors.keySeq().join(', ')}`),
        ...errors.entrySeq().map(line),
      ),
    );
  };
  return { wrapComponents: { responses: WithErrors } };
}
