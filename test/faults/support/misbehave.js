import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

// A client that misbehaves in every way, one after the other, from an address of its own, until it is killed.
const [url, key, localAddress, orderId] = process.argv.slice(2);
const { hostname: host, port } = new URL(url);
/** Milliseconds for each way of misbehaving. */
const TURN_MS = 3_000;
const AT_ONCE = 24;

/** Opens a connection, and reads what comes until the socket is paused. */
function open() {
  const socket = connect({ host, port: Number(port), localAddress });
  socket.on('error', () => {});
  socket.resume();
  return socket;
}

/** Sends bytes; resolves at the first bytes of an answer, or when the connection closes. */
function ask(bytes, socket = open()) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), 5_000);
    const done = () => {
      clearTimeout(timer);
      socket.off('data', done).off('close', done);
      resolve(socket);
    };
    socket.on('data', done).on('close', done);
    socket.write(bytes);
  });
}

const request = (method, path, headers = [], body = '') =>
  [
    `${method} ${path} HTTP/1.1`,
    ...(headers.some((one) => one.startsWith('Host')) ? [] : ['Host: x']),
    ...headers,
    ...(body ? ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`] : []),
    '',
    body,
  ].join('\r\n');
const authorized = `Authorization: Bearer ${key}`;
const random = () => randomBytes(8).toString('hex');
const basic = (text) => `Authorization: Basic ${Buffer.from(text).toString('base64')}`;

/** Sends requests over persistent connections, each when the previous one has been answered. */
function flood(bytesOf) {
  return async (until) => {
    const one = async () => {
      let socket = open();
      while (performance.now() < until) {
        socket = await ask(bytesOf(), socket);
        if (socket.destroyed) socket = open();
      }
      socket.destroy();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  };
}

/** Opens many connections, does something with each, and resets them at the end. */
function crowd(count, begin) {
  return async (until) => {
    const sockets = Array.from({ length: count }, () => {
      const socket = open();
      begin(socket);
      return socket;
    });
    await sleep(until - performance.now());
    for (const socket of sockets) socket.resetAndDestroy();
  };
}

const WAYS = {
  'patterns as a Host': flood(() => request('GET', '/openapi.json', [`Host: ${"$'".repeat(4_000)}`])),
  'random Hosts': flood(() =>
    request('GET', `/openapi.${Math.random() < 0.5 ? 'json' : 'yaml'}`, [
      `Host: ${random()}.example`,
      'Accept-Encoding: br',
    ]),
  ),
  'addresses that are none': flood(() =>
    request('GET', '/v1/pets', [
      `X-Forwarded-For: ${['fe80::1%a-b', '::ffff:1.2.3.4%x', '1.2.3.4:x', '[::', '%'][Math.trunc(Math.random() * 5)]}`,
    ]),
  ),
  'connections that say nothing': crowd(500, () => {}),
  'no key': flood(() => request('GET', '/v1/pets')),
  'wrong keys': flood(() => request('GET', '/v1/pets', [`Authorization: Bearer petstore_${random()}`])),
  'malformed JSON': flood(() => request('POST', '/v1/pets', [authorized], '{"name":')),
  'unknown routes': flood(() => request('GET', `/v1/${random()}`, [authorized])),
  'wrong passwords': flood(() =>
    request('GET', '/v1/api-keys', [basic(`${random()}@example.com:${random()}`)]),
  ),
  'wrong references': flood(() =>
    request('POST', '/v1/pets', [authorized], '{"name":"Rex","categoryId":404404}'),
  ),
  'one row for all': flood(() =>
    request('PATCH', `/v1/store/orders/${orderId}`, [authorized], '{"status":"placed"}'),
  ),
  'one key for all': flood(() =>
    request('POST', '/v1/pets', [authorized, 'Idempotency-Key: one'], '{"name":"Rex","categoryId":1}'),
  ),
  'too large bodies': flood(() =>
    request('POST', '/v1/messages', [authorized], `{"message":"${'x'.repeat(200_000)}"}`),
  ),
  'bodies that never end': crowd(400, (socket) =>
    socket.write(
      `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${authorized}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
    ),
  ),
  'answers that nobody reads': crowd(100, (socket) => {
    socket.pause();
    socket.write(request('GET', '/openapi.json').repeat(50));
  }),
  'requests without end on one connection': crowd(20, (socket) =>
    socket.write(request('GET', '/v1/pets?limit=100', [authorized]).repeat(3_000)),
  ),
  'no HTTP': flood(() => randomBytes(300)),
};

for (;;) {
  for (const [name, misbehave] of Object.entries(WAYS)) {
    console.log(name);
    await misbehave(performance.now() + TURN_MS);
  }
}
