import { connect } from 'node:net';

// Opens many sockets, in a process of its own; each sends one request after another. Prints the answers as JSON.
const [url, key, sockets, seconds] = process.argv.slice(2);
const { hostname, port } = new URL(url);
const body = JSON.stringify({ name: 'Flood', categoryId: 1 });
const head = `HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`;
const REQUESTS = [
  `GET /v1/pets ${head}\r\n`,
  `POST /v1/pets ${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
];
const until = performance.now() + Number(seconds) * 1_000;
const statuses = {};
const wrong = [];
let slowestMs = 0;
let open = 0;

function run(i) {
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  let begun = 0;
  let received = '';
  const send = () => {
    if (performance.now() > until) {
      socket.destroy();
      return;
    }
    received = '';
    begun = performance.now();
    socket.write(REQUESTS[i++ % REQUESTS.length]);
  };
  open++;
  socket.on('connect', send);
  socket.on('error', ({ code }) => count(code));
  socket.on('close', () => --open === 0 && report());
  socket.on('data', (chunk) => {
    received += chunk;
    const end = received.indexOf('\r\n\r\n');
    if (end < 0 || received.length < end + 4 + Number(/^content-length: (\d+)/im.exec(received)?.[1])) return;
    slowestMs = Math.max(slowestMs, performance.now() - begun);
    examine();
    // Waits like a client that honours Retry-After, though not as long.
    if (received.startsWith('HTTP/1.1 503')) setTimeout(send, 500);
    else send();
  });
  const examine = () => {
    const status = received.slice(9, 12);
    count(status);
    const isShed =
      status === '503' && /^retry-after: 1\r$/im.test(received) && /"service_unavailable"/.test(received);
    if (!/^20[01]$/.test(status) && !isShed) wrong.push(received.slice(0, 300));
  };
}

const count = (name) => (statuses[name] = (statuses[name] ?? 0) + 1);
const report = () => console.log(JSON.stringify({ statuses, wrong, slowestMs: Math.round(slowestMs) }));

// Spread over a second: a crowd, but not in a single packet.
for (let i = 0; i < Number(sockets); i++) setTimeout(run, (i * 1_000) / sockets, i);
