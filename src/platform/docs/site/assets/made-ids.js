import { learn, visit } from './visit.js';

/**
 * Enters the id of what the reader has just made wherever a path takes it, or a body in the field of the same name, unless
 * another one was entered there.
 */
export function fillInMade({ url, status, obj }, ui) {
  if ((status !== 201 && status !== 202) || obj?.id === undefined) return;
  const id = String(obj.id);
  const paths = ui.specSelectors.specJson().get('paths');
  const address = new URL(url).pathname;
  const made = paths.keySeq().filter((path) => address.endsWith(path) && paths.hasIn([path, 'post']));
  const collection = made.maxBy((path) => path.length);
  const { name, bodies } = paths.getIn([collection, 'post', 'x-made'])?.toJS() ?? {};
  if (!name) return;
  for (const [path, item] of paths.filter((_, one) => one.startsWith(`${collection}/{${name}}`))) {
    for (const [method, operation] of item) enter(ui, [path, method], operation, name, id);
  }
  const asJson = (value) => (typeof obj.id === 'string' ? JSON.stringify(value) : String(value));
  const before = asJson(visit().made[name]);
  for (const { path, method } of bodies) {
    const pathMethod = [path, method];
    const untouched = [asJson(exampleOf(paths.getIn(pathMethod)).get(name)), before];
    if (untouched.includes(bodyField(ui, pathMethod, name))) enterInBody(ui, pathMethod, name, asJson(id));
  }
  learn({ made: { ...visit().made, [name]: id } });
}

function exampleOf(operation) {
  return operation.getIn(['requestBody', 'content', 'application/json', 'example']);
}

/** Writes a value, as JSON, into a field of the body that an operation is sent with; the rest stays as it stands there. */
export function enterInBody(ui, pathMethod, name, json) {
  const value = bodyOf(ui, pathMethod).replace(fieldNamed(name), (_, key) => key + json);
  ui.oas3Actions.setRequestBodyValue({ value, pathMethod });
  // A panel that opens would enter its example instead.
  ui.oas3Actions.setRetainRequestBodyValueFlag({ value: true, pathMethod });
}

/** What a field of the body holds, as JSON. */
function bodyField(ui, pathMethod, name) {
  return fieldNamed(name).exec(bodyOf(ui, pathMethod))?.[2];
}

/** As a text: its numbers may have more digits than a double. */
function bodyOf({ oas3Selectors, specSelectors }, pathMethod) {
  const operation = specSelectors.specJson().getIn(['paths', ...pathMethod]);
  return oas3Selectors.requestBodyValue(...pathMethod) ?? JSON.stringify(exampleOf(operation), null, 2);
}

function fieldNamed(name) {
  return new RegExp(`("${name}"\\s*:\\s*)("[^"]*"|-?\\d+)`);
}

function enter(ui, pathMethod, operation, name, id) {
  const { specSelectors, specActions } = ui;
  const parameter = operation.get('parameters').find((one) => one.get('name') === name);
  const entered = specSelectors.parameterWithMetaByIdentity(pathMethod, parameter).get('value');
  const untouched = [undefined, String(parameter.getIn(['schema', 'example'])), visit().made[name]];
  if (untouched.includes(entered)) specActions.changeParamByIdentity(pathMethod, parameter, id, false);
}
