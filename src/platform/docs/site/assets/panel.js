import { learn, visit, watch } from './visit.js';

/** What has no name in Swagger UI, and the one that it gets (WCAG 2.2, 4.1.2). */
const NAMES = {
  'select.examples-select-element': () => 'Example',
  'select.content-type': () => 'Content type',
  'textarea.body-param__text': () => 'Request body',
  '.parameters :is(input, select, textarea)': (field) => field.closest('tr')?.dataset.paramName,
};

/** Of an operation, what is needed to try it out: its fields, a server, credentials, Execute and the answer. */
export function panel({ React }) {
  const h = React.createElement;

  /** What a root shows follows from the operation that it stands in. */
  const App = ({ specSelectors, getComponent }) => {
    const place = React.useRef(null);
    const [about, setAbout] = React.useState();
    React.useLayoutEffect(() => {
      setAbout({ ...place.current.closest('.operation').dataset });
    }, []);
    const Container = getComponent('OperationContainer', true);
    const isIt = (one) => one.get('path') === about?.path && one.get('method') === about.method;
    const found = specSelectors.operations().find(isIt);
    const specPath = React.useMemo(() => found && listOf(found, about), [found]);
    return h('div', { ref: place }, found && h(Container, { ...about, op: found, specPath }));
  };

  const Panel = ({ operation, response, onResetClick, onExecute, specPath, ...props }) => {
    const { getComponent, specSelectors } = props;
    const { path, method, op, executeInProgress } = operation.toObject();
    const place = React.useRef(null);
    React.useEffect(() => nameFields(place.current));
    if (!op.size) return h('p', { className: 'limits', ref: place }, 'Opening…');
    const [Parameters, LiveResponse] = ['parameters', 'liveResponse'].map((one) => getComponent(one, true));
    const [Execute, Clear] = ['execute', 'clear'].map((one) => getComponent(one));
    const isDocumented = op.hasIn(['responses', String(response?.get('status'))]);
    const about = { ...props, path, method };
    const errors = specSelectors.validationErrors([path, method]);
    const isAuthorized = operation.get('isAuthorized');
    return h(
      'div',
      { className: 'opblock', ref: place },
      h(
        'div',
        { className: 'row' },
        h(Server, { ...about, own: op.get('servers') }),
        h('button', { type: 'button', className: 'btn authorize' }, 'Authorize'),
        op.get('security')?.size > 0 &&
          h(
            'span',
            { className: 'credentials' },
            `Credentials are ${isAuthorized ? 'filled in' : 'missing'}`,
          ),
      ),
      h(Parameters, {
        ...about,
        parameters: op.get('parameters') ?? op.clear().toList(),
        specPath: specPath.push('parameters'),
        operation: op,
        onChangeKey: [path, method],
        onResetClick,
        tryItOutEnabled: true,
        allowTryItOut: true,
        pathMethod: [path, method],
      }),
      errors.length > 0 &&
        h(
          'div',
          { className: 'validation-errors', role: 'alert' },
          'Please correct the following and try again.',
          h('ul', null, ...errors.map((error) => h('li', null, error))),
        ),
      h(
        'div',
        { className: 'row buttons' },
        h(Execute, { ...about, operation: op, onExecute, disabled: executeInProgress }),
        response && h(Clear, about),
      ),
      response &&
        h(LiveResponse, {
          ...about,
          response: response.set('notDocumented', !isDocumented),
          displayRequestDuration: true,
        }),
    );
  };

  const Server = ({ path, method, own, specSelectors, oas3Selectors, oas3Actions }) => {
    const namespace = own && `${path}:${method}`;
    const servers = (own ?? specSelectors.servers()).toJS();
    const chosen = oas3Selectors.selectedServer(namespace) || servers[0].url;
    // Swagger UI would show its panels again without what is chosen.
    React.useSyncExternalStore(watch, visit);
    const choose = (url) => {
      oas3Actions.setSelectedServer(url, namespace);
      learn(own ? {} : { server: url });
    };
    React.useEffect(() => choose(chosen), [namespace]);
    const options = servers.map(({ url, description }) =>
      h('option', { key: url, value: url }, `${url} - ${description}`),
    );
    const look = { value: chosen, onChange: ({ target }) => choose(target.value) };
    return h('label', { className: 'server' }, 'Server ', h('select', look, options));
  };

  const Reset = ({ hasUserEditedBody, onResetClick }) =>
    hasUserEditedBody && h('button', { type: 'button', className: 'btn', onClick: onResetClick }, 'Reset');

  // Its names for buttons are not what stands on them, which is what somebody says who works them by voice (2.5.3).
  const Button =
    (Original) =>
    ({ 'aria-label': _name, ...props }) => {
      const isRemoval = props.className?.includes('json-schema-form-item-remove');
      return h(Original, props, isRemoval ? 'Remove' : props.children);
    };

  // Its placeholders are the names that stand above the fields.
  const Exemplified = (Form) => (props) => {
    const example = props.schema.get('x-example');
    return h(Form, { ...props, description: example === undefined ? '' : `Example: ${example}` });
  };

  return {
    components: {
      App,
      operation: Panel,
      TryItOutButton: Reset,
      // The page has the schema beside it.
      modelExample: ({ example }) => example,
      // The field of each id in a list, which Swagger UI looks for, and has only under the name of a text.
      JsonSchema_integer_int64: (props) => h(props.getComponent('JsonSchema_string'), props),
    },
    wrapComponents: { Button, JsonSchemaForm: Exemplified },
  };
}

/** The way to an operation in the document, as Swagger UI has such. */
function listOf(found, { path, method }) {
  return found.get('operation').get('tags').clear().concat(['paths', path, method]);
}

function nameFields(root) {
  for (const [selector, nameOf] of Object.entries(NAMES))
    for (const field of root?.querySelectorAll(`:is(${selector}):not([aria-label])`) ?? []) {
      const name = nameOf(field);
      if (name) field.setAttribute('aria-label', name);
    }
  for (const block of root?.querySelectorAll('pre:not([tabindex])') ?? []) block.tabIndex = 0;
}
