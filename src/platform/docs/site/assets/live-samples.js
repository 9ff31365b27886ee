import { samplesOf } from './call-samples.js';
import { showCode } from './samples.js';

/** The environment variables that samples read, and what they hold. */
const VARIABLES = { API_KEY: 'your API key', EMAIL: 'the email of your account', PASSWORD: 'its password' };

/** Keeps the samples of operations to what stands in the fields of their panels. Returns what adds an operation. */
export function followFields(system) {
  const followed = new Set();
  let drawn;
  const show = () => {
    drawn = undefined;
    for (const operation of followed) showCall(system, operation);
  };
  const look = () => (drawn ??= requestAnimationFrame(show));
  system.getStore().subscribe(look);
  return (operation) => {
    followed.add(operation);
    look();
  };
}

function showCall(system, operation) {
  const { path, method } = operation.dataset;
  const call = callIn(system, path, method);
  const codes = operation.querySelectorAll('.samples code');
  if (call) {
    const [shown, copied] = [samplesOf(masked(call)), samplesOf(call)];
    codes.forEach((code, i) => showCode(code, shown[i].source, copied[i].source));
  }
  const used = Object.keys(VARIABLES).filter((name) =>
    new RegExp(`\\b${name}\\b`).test(codes[0]?.textContent),
  );
  const needs = operation.querySelector('.needs');
  if (!needs) return;
  needs.hidden = used.length === 0;
  needs.textContent = `Set first: ${used.map((name) => `export ${name}='${VARIABLES[name]}'`).join(', ')}.`;
}

/** Undefined while fields hold what cannot be sent. */
function callIn(system, path, method) {
  try {
    return callOf(system, path, method);
  } catch {
    return undefined;
  }
}

/** What an operation sends with what stands in its fields, as samples show it; undefined if a field has to be filled in first. */
function callOf(system, path, method) {
  const { specSelectors, fn } = system;
  const operation = specSelectors.specJson().getIn(['paths', path, method]);
  const { url, headers, body } = fn.buildRequest({
    ...requestOf(system, path, method),
    operationId: operation.get('operationId'),
  });
  if (/%7B|\{/i.test(url)) return undefined;
  const content = contentOf(body, headers['Content-Type'], operation);
  if (!content) return undefined;
  const sent = Object.entries(headers).filter(([name]) => !/^(?:accept|content-type)$/i.test(name));
  return {
    method: method.toUpperCase(),
    url,
    headers: Object.fromEntries(sent),
    ...content,
    answers: operation.get('x-answers'),
    ...credentialsOf(system, operation.getIn(['security', 0])?.keySeq().first()),
  };
}

/** The same call with secrets that cannot be read over a shoulder. */
function masked(call) {
  const { key, password } = call;
  return { ...call, key: key && `${key.slice(0, 12)}…`, password: password && '…' };
}

let spec = { of: undefined, plain: undefined };

/** What Swagger UI makes its request of when it is sent. */
function requestOf({ specSelectors, oas3Selectors }, pathName, method) {
  const of = specSelectors.specJsonWithResolvedSubtrees();
  // It is large, and seldom another one.
  if (of !== spec.of) spec = { of, plain: of.toJS() };
  const namespace = `${pathName}:${method}`;
  const server = oas3Selectors.selectedServer(namespace) || oas3Selectors.selectedServer();
  return {
    spec: spec.plain,
    pathName,
    method,
    parameters: specSelectors.parameterValues([pathName, method]).toJS(),
    requestContentType: oas3Selectors.requestContentType(pathName, method),
    responseContentType: oas3Selectors.responseContentType(pathName, method),
    requestBody: plainBody(oas3Selectors.requestBodyValue(pathName, method)),
    server,
    serverVariables: oas3Selectors.serverVariables({ server }).toJS(),
    contextUrl: new URL(specSelectors.url(), location.href).href,
  };
}

/** A form as it is sent: what stands in its fields, without those that are empty. */
function plainBody(value) {
  if (!value?.toJS) return value;
  const fields = value.map((one) => (one?.get ? one.get('value') : one)).toJS();
  return Object.fromEntries(
    Object.entries(fields).filter(([, one]) => one?.length !== 0 && one !== undefined),
  );
}

/**
 * What samples send: a form, a file by its name, another text, or JSON as a value if JavaScript has one for it that is exact.
 * Undefined while a file has to be chosen first.
 */
function contentOf(body, type = 'application/json', operation) {
  const types = operation.getIn(['requestBody', 'content'])?.keySeq().toArray() ?? [];
  if (body === undefined && types.length > 0 && !types.includes('application/json')) return undefined;
  if (body instanceof FormData) {
    const { required = [] } =
      operation.getIn(['requestBody', 'content', 'multipart/form-data', 'schema'])?.toJS() ?? {};
    if (required.some((name) => !body.has(name))) return undefined;
    const fields = [...body].map(([name, one]) =>
      one instanceof File ? { name, type: one.type, file: one.name } : { name, text: one },
    );
    return { form: fields };
  }
  if (body instanceof File) return { content: { type: type || body.type, file: body.name } };
  if (!/^application\/json\b/.test(type)) return body ? { content: { type, text: body } } : undefined;
  return jsonOf(body);
}

function jsonOf(text) {
  if (typeof text !== 'string' || text === '') return {};
  try {
    return /\d{16}/.test(text) ? { text } : { body: JSON.parse(text) };
  } catch {
    return { text };
  }
}

const ACCESS = { bearerAuth: 'bearer', basicAuth: 'basic' };

function credentialsOf({ authSelectors }, scheme) {
  const token = authSelectors.authorized().getIn(['openIdConnect', 'token', 'access_token']);
  // Sent as long as it is there, whatever else is filled in.
  if (scheme && token) return { access: 'bearer', key: token };
  const value = authSelectors.authorized().getIn([scheme, 'value']);
  if (scheme === 'bearerAuth') return { access: ACCESS[scheme], key: value };
  const { username: email, password } = value?.toJS() ?? {};
  return { access: ACCESS[scheme] ?? 'public', email, password };
}
