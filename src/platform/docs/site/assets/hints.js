import { makerOf } from './made-ids.js';
import { operationLink } from './navigation.js';

/** Says in the panel of an operation what the reader has to do first, until it is done. */
export function hints(system) {
  const { React } = system;
  const h = React.createElement;
  const link = (operation, text) =>
    operationLink(system, operation.getIn(['tags', 0]), operation.get('operationId'), text);

  const sentByService = h(
    'p',
    { className: 'hint' },
    'The service sends this request, to the address that it is told to: there is nothing to execute here.',
  );

  const Hints = ({ path, method, specSelectors, authSelectors, visitSelectors }) => {
    const operation = specSelectors.specJson().getIn(['paths', path, method]);
    if (!operation) return sentByService;
    const takesAccount = operation.get('security')?.some((scheme) => scheme.has('basicAuth'));
    const { name, maker } = makerOf(specSelectors, path) ?? {};
    return h(
      React.Fragment,
      null,
      takesAccount &&
        !authSelectors.authorized().has('basicAuth') &&
        h(
          'p',
          { className: 'hint' },
          'Needs the email and password of an account: ',
          operationLink(system, 'accounts', 'createAccount', 'create one'),
          ', and the page enters them.',
        ),
      maker &&
        !visitSelectors.made(name) &&
        h(
          'p',
          { className: 'hint' },
          'The id is an example. Do this first, and the page enters one that is there: ',
          link(maker, maker.get('summary')),
          '.',
        ),
    );
  };

  const WithHints = (Parameters) => (props) => {
    const [path, method] = props.pathMethod;
    const Shown = props.getComponent('OperationHints', true);
    const isSentHere = props.specSelectors.specJson().hasIn(['paths', path, method]);
    const look = isSentHere ? props : { ...props, tryItOutEnabled: false, allowTryItOut: false };
    return h(React.Fragment, null, h(Shown, { path, method }), h(Parameters, look));
  };
  return { components: { OperationHints: Hints }, wrapComponents: { parameters: WithHints } };
}
