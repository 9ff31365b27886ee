import { EMAIL } from './database.js';

/** An account with a key, created as every client does. */
export async function createKey(url: string): Promise<string> {
  const account = { email: EMAIL, password: 'correct horse battery' };
  const basic = Buffer.from(`${account.email}:${account.password}`).toString('base64');
  await post(`${url}/v1/accounts`, account);
  const headers = { Authorization: `Basic ${basic}` };
  return (await post(`${url}/v1/api-keys`, { name: 'bench' }, headers)).key;
}

async function post(url: string, body: object, headers = {}): Promise<{ key: string }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as { key: string };
}
