/** Puts a button under a page of a list, which fetches the next one: it enters the cursor, and presses Execute. */
export function nextPage({ React, getSystem }) {
  const h = React.createElement;

  const WithNext = (LiveResponse) => (props) => {
    const { path, method, response } = props;
    const link = response.getIn(['headers', 'link']) ?? '';
    const [, cursor] = /[?&]cursor=([^&>]+)[^>]*>; rel="next"/.exec(link) ?? [];
    const go = ({ target }) => {
      const { specSelectors, specActions } = getSystem();
      const parameters = specSelectors.specJson().getIn(['paths', path, method, 'parameters']);
      const parameter = parameters.find((one) => one.get('name') === 'cursor');
      specActions.changeParamByIdentity([path, method], parameter, decodeURIComponent(cursor), false);
      const execute = target.closest('.opblock').querySelector('.execute');
      requestAnimationFrame(() => execute.click());
    };
    return h(
      React.Fragment,
      null,
      h(LiveResponse, props),
      cursor && h('button', { type: 'button', className: 'btn next-page', onClick: go }, 'Next page'),
    );
  };
  return { wrapComponents: { liveResponse: WithNext } };
}
