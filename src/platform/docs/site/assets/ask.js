/**
 * Asks the service for JSON, with nothing that the browser knows of its reader.
 * @throws Error in words for the reader: those of the service, with the `status` of its answer, if it has answered
 */
export async function ask(address, { authorization, body } = {}) {
  const headers = { ...(authorization && { Authorization: authorization }) };
  if (body) headers['Content-Type'] = 'application/json';
  const method = body ? 'POST' : 'GET';
  const request = { method, headers, body: JSON.stringify(body), credentials: 'omit', redirect: 'error' };
  const response = await fetch(address, request).catch(() => {
    throw new Error('There was no answer: is the service still running?');
  });
  const { status, ok } = response;
  const answer = await response.json().catch(() => {
    throw new Error(`Something other than the service has answered, with ${status}.`);
  });
  if (!ok) throw Object.assign(new Error(answer.message), { status });
  return answer;
}
