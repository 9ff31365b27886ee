import { enterInBody, nameOfId, takersOf } from './made-ids.js';
import { openAddress } from './navigation.js';

/**
 * Offers under a successful answer what can be done next with what was answered: the links of the document, the operations
 * whose body takes its id, and the next of the states that it goes through.
 */
export function nextSteps({ React, getSystem }) {
  const h = React.createElement;

  const Step = ({ step: { pathMethod, operation, state } }) => {
    const go = () => {
      const ui = getSystem();
      if (state) enterInBody(ui, pathMethod, state.name, JSON.stringify(state.value));
      void openAddress(ui, `#/${operation.getIn(['tags', 0])}/${operation.get('operationId')}`);
    };
    const text = state ? `Set its ${state.name} to ${state.value}` : operation.get('summary');
    return h('button', { type: 'button', className: 'btn', onClick: go }, text);
  };

  const WithSteps = (LiveResponse) => (props) => {
    const steps = stepsAfter(props.specSelectors.specJson(), props);
    return h(
      React.Fragment,
      null,
      h(LiveResponse, props),
      steps.length > 0 &&
        h(
          'p',
          { className: 'next-steps' },
          h('b', null, 'Next:'),
          ...steps.map((step) => h(Step, { key: step.operation.get('operationId'), step })),
        ),
    );
  };
  return { wrapComponents: { liveResponse: WithSteps } };
}

function stepsAfter(spec, { path, method, response }) {
  const [paths, status] = [spec.get('paths'), response.get('status')];
  if (!(status >= 200 && status < 300) || !paths.hasIn([path, method])) return [];
  const answer = read(response.get('text'));
  if (answer?.id === undefined) return [];
  const links =
    paths
      .getIn([path, method, 'responses', String(status), 'links'])
      ?.keySeq()
      .toArray() ?? [];
  const all = [...paths].flatMap(([one, item]) =>
    [...item].map(([verb, operation]) => ({ pathMethod: [one, verb], operation })),
  );
  const linked = all.filter(
    ({ pathMethod, operation }) =>
      links.includes(operation.get('operationId')) || (pathMethod[0] === path && pathMethod[1] === 'patch'),
  );
  const name = method === 'post' && nameOfId(paths, path);
  const moved = linked.map((one) => ({ ...one, state: nextState(spec, one.operation, answer) }));
  const isOffered = ({ operation, pathMethod: [, verb], state }) =>
    !operation.get('deprecated') && (state || (verb === 'get' && method !== 'get'));
  return [...(name ? takersOf(paths, name) : []), ...moved.filter(isOffered)];
}

/**
 * What a field of an answer becomes next, where an operation sets it: of its values in the order of the document, that
 * after its present one, unless the description of this one says that it is final.
 */
function nextState(spec, operation, answer) {
  const body = resolved(spec, operation.getIn(['requestBody', 'content', 'application/json', 'schema']));
  for (const [name, property] of body?.get('properties') ?? []) {
    const schema = resolved(spec, property);
    const values = schema.get('enum');
    const place = values?.indexOf(answer[name]) ?? -1;
    const meaning = schema.getIn(['x-enumDescriptions', answer[name]]) ?? '';
    const value = place < 0 || /\bFinal\.$/.test(meaning) ? undefined : values.get(place + 1);
    if (value !== undefined) return { name, value };
  }
  return undefined;
}

function resolved(spec, schema) {
  const reference = schema?.get('$ref');
  return reference ? spec.getIn(reference.split('/').slice(1)) : schema;
}

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
