/** Of the path of an operation on one thing: the path at which such things are made, and the name of its id. */
const ONE = /^(.*)\/\{(\w+)\}$/;

/** The operation that makes what the last id of a path names, and the name of that id. */
export function makerOf(specSelectors, path) {
  const [, collection, name] = ONE.exec(path) ?? [];
  const maker = specSelectors.specJson().getIn(['paths', collection, 'post']);
  return maker && { name, maker };
}

/** Enters the id of what the reader has just made wherever a path takes it, unless another one was entered there. */
export function fillInMade({ url, status, obj }, ui) {
  if ((status !== 201 && status !== 202) || obj?.id === undefined) return;
  const id = String(obj.id);
  const paths = ui.specSelectors.specJson().get('paths');
  const address = new URL(url).pathname;
  const made = paths.keySeq().filter((path) => address.endsWith(path) && paths.hasIn([path, 'post']));
  const collection = made.maxBy((path) => path.length);
  const name = paths
    .keySeq()
    .map((path) => ONE.exec(path))
    .find((match) => match?.[1] === collection)?.[2];
  if (!name) return;
  for (const [path, item] of paths.filter((_, one) => one.startsWith(`${collection}/{${name}}`))) {
    for (const [method, operation] of item) enter(ui, [path, method], operation, name, id);
  }
  ui.visitActions.keepId(name, id);
}

function enter(ui, pathMethod, operation, name, id) {
  const { specSelectors, specActions, visitSelectors } = ui;
  const parameter = operation.get('parameters').find((one) => one.get('name') === name);
  const entered = specSelectors.parameterWithMetaByIdentity(pathMethod, parameter).get('value');
  const untouched = [undefined, String(parameter.getIn(['schema', 'example'])), visitSelectors.made(name)];
  if (untouched.includes(entered)) specActions.changeParamByIdentity(pathMethod, parameter, id, false);
}
