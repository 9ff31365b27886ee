import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { load } from 'js-yaml';
import { Client } from 'pg';
import { AccountCounts } from '../../src/platform/server/request-recorder.js';
import { Metrics } from '../../src/platform/telemetry/metrics.js';
import { call, createAccount, createKey, send } from '../../src/testing/client.js';
import { readMetrics, type Sample, valueOf } from '../support/metrics.js';
import { eventually, ROOT } from '../support/npm.js';
import { Proxy } from '../support/proxy.js';
import { query, type Service, startService } from '../../src/testing/service.js';

type Line = Record<string, unknown>;

let service: Service;
let key: string;

beforeAll(async () => {
  service = await startService({ LOG_LEVEL: 'debug' });
  key = await createKey(service);
});
afterAll(() => service.stop());

/** Everything logged so far; anything else in the log fails the test. */
function linesOf(of: Service): Line[] {
  const written = of.output().split('\n');
  return written.filter((line) => line && !line.startsWith('  ')).map((line) => JSON.parse(line) as Line);
}

/** The line of a request, once it is logged. */
async function lineOf(requestId: string, of = service): Promise<Line> {
  const find = () => linesOf(of).find((line) => line.requestId === requestId && 'durationMs' in line);
  await eventually(() => find() !== undefined);
  return find()!;
}

describe('The log', () => {
  test('has one line of JSON for each request, with the request id of its answer', async () => {
    const headers = { 'X-Request-Id': 'from-the-client' };
    await call(service, 'GET', '/v1/pets?status=sold&limit=3', { key, headers });
    const line = await lineOf('from-the-client');
    expect(line).toEqual({
      level: 'info',
      time: expect.any(Number),
      pid: service.process.pid,
      requestId: 'from-the-client',
      accountId: expect.stringMatching(/^\d+$/),
      operationId: 'listPets',
      method: 'GET',
      route: '/v1/pets',
      status: 200,
      durationMs: expect.any(Number),
    });
    expect(line.durationMs).toBeGreaterThan(0);
    expect(linesOf(service).filter(({ requestId }) => requestId === 'from-the-client')).toHaveLength(1);
  });

  test('names a route by its template, and leaves an unknown address out', async () => {
    const known = await call(service, 'GET', '/v1/pets/4242', { key });
    const unknown = await call(service, 'GET', '/v1/grace@example.com');
    expect(await lineOf(known.headers.get('x-request-id')!)).toMatchObject({
      operationId: 'getPet',
      route: '/v1/pets/:petId',
      status: 404,
      code: 'pet_not_found',
    });
    const line = await lineOf(unknown.headers.get('x-request-id')!);
    expect(line).toMatchObject({ operationId: 'none', status: 404, code: 'route_not_found' });
    expect(line).not.toHaveProperty('route');
  });

  test('has the code of an error that a browser is shown as a page', async () => {
    const page = await fetch(`${service.url}/nowhere`, { headers: { Accept: 'text/html' } });
    expect(await page.text()).toContain('<html');
    expect(await lineOf(page.headers.get('x-request-id')!)).toMatchObject({ code: 'route_not_found' });
  });

  test('shows probes only at debug', async () => {
    const { headers } = await call(service, 'GET', '/health/live');
    expect(await lineOf(headers.get('x-request-id')!)).toMatchObject({ level: 'debug', status: 200 });
  });

  test('counts malformed requests in one line, however many come', async () => {
    const other = await startService();
    for (let i = 0; i < 20; i++) await send(other, 'GARBAGE\r\n\r\n');
    const told = () => linesOf(other).filter(({ refused }) => refused !== undefined);
    await eventually(() => told().length > 0);
    expect(told()).toHaveLength(1);
    expect(told()[0]).toMatchObject({ level: 'info', refused: { bad_request: 1 } });
    const metrics = await readMetrics(other);
    expect(valueOf(metrics, 'http_server_refused_requests_total', { reason: 'bad_request' })).toBe(20);
    // There from the start: the first value of a series is no increase, and an alert on it would not see the first ones.
    const overloaded = {
      name: 'http_server_refused_requests_total',
      labels: { reason: 'overloaded' },
      value: 0,
    };
    expect(metrics).toContainEqual(overloaded);
    await other.stop();
  });

  test('has the reason of a failure at the level of its status, and never what was sent', async () => {
    const other = await startService({ LOG_LEVEL: 'debug' });
    const account = await createAccount(other);
    const own = await createKey(other, account);
    const sent = ['Frida the Turtle', 'See you at nine', 'Secret Category', 'query-text', 'wrong-password-1'];
    const [name, message, category, text, password] = sent;
    await call(other, 'POST', '/v1/pets', { key: own, body: { name, categoryId: 1 } });
    await call(other, 'POST', '/v1/messages', { key: own, body: { message } });
    await call(other, 'POST', '/v1/messages', { key: own, body: `{"message": "${message}` });
    await call(other, 'POST', '/v1/accounts', { body: { email: account.email, password } });
    await call(other, 'GET', '/v1/api-keys', { account: { ...account, password: password! } });
    await call(other, 'GET', `/v1/pets?status=${text}&access_token=${own}`, { key: own });
    await call(other, 'GET', `/v1/${text}/${account.email}`, { key: own });
    await query(other.databaseUrl, 'DROP TABLE categories CASCADE');
    const failed = await call(other, 'POST', '/v1/categories', { key: own, body: { name: category } });
    await lineOf(failed.headers.get('x-request-id')!, other);
    // As PostgreSQL itself quotes a value that is none of its type.
    await query(
      other.databaseUrl,
      `CREATE FUNCTION quote() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE 'invalid input syntax: %', NEW.message USING ERRCODE = '22P02'; END $$;
       CREATE TRIGGER quote BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION quote()`,
    );
    const odd = await call(other, 'POST', '/v1/messages', { key: own, body: { message } });
    await lineOf(odd.headers.get('x-request-id')!, other);
    await other.stop();
    const reason = linesOf(other).find((line) => line.requestId === odd.headers.get('x-request-id'));
    expect(reason).toMatchObject({ level: 'error', msg: expect.stringContaining('SQLSTATE 22P02') });
    const requestId = failed.headers.get('x-request-id');
    expect(linesOf(other).filter((line) => line.requestId === requestId)).toMatchObject([
      { level: 'error', context: 'ErrorFilter', msg: expect.stringContaining('"categories" does not exist') },
      { level: 'warn', operationId: 'createCategory', status: 500 },
    ]);
    const never = [...sent, account.email, account.password, own, own.slice(9), 'Bearer', 'Basic '];
    for (const secret of never) expect(other.output()).not.toContain(secret);
  });
});

describe('The metrics', () => {
  test('wait for none that takes long to read, and leave it out', async () => {
    const metrics = new Metrics();
    metrics.gauge('never', 'One that is waited for.', () => new Promise<number>(() => {}));
    metrics.gauge('soon', 'One that is read.', () => Promise.resolve(7));
    const begin = performance.now();
    const text = await metrics.text();
    expect(performance.now() - begin).toBeLessThan(1_000);
    expect(text).toMatch(/^soon 7$/m);
    expect(text).not.toMatch(/^never \d/m);
  });

  test('count requests and their durations by operation and status', async () => {
    const before = await readMetrics(service);
    for (let i = 0; i < 3; i++) await call(service, 'GET', '/v1/categories', { key });
    await call(service, 'GET', '/v1/categories');
    const after = await readMetrics(service);
    const name = 'http_server_request_duration_seconds';
    const rise = (suffix: string, labels: Record<string, string>) =>
      valueOf(after, name + suffix, labels) - valueOf(before, name + suffix, labels);
    const operation = 'listCategories';
    expect(rise('_count', { operation, status: '200' })).toBe(3);
    expect(rise('_count', { operation, status: '401' })).toBe(1);
    expect(rise('_bucket', { operation, status: '200', le: '+Inf' })).toBe(3);
    expect(rise('_bucket', { operation, status: '200', le: '5' })).toBe(3);
    expect(rise('_sum', { operation })).toBeGreaterThan(0);
    expect(rise('_sum', { operation })).toBeLessThan(4);
  });

  test('count the calls of a deprecated operation by account', async () => {
    const account = await createAccount(service);
    const own = await createKey(service, account);
    for (let i = 0; i < 2; i++) await call(service, 'GET', '/v1/pets/1', { key: own });
    await call(service, 'GET', '/v1/pets', { key: own });
    const metrics = await readMetrics(service);
    const calls = { operation: 'getPet', account: String(account.id) };
    expect(valueOf(metrics, 'petstore_deprecated_calls_total', calls)).toBe(2);
  });

  test('count the calls of a thousand accounts each, and those of all others together', () => {
    const counts = new AccountCounts();
    for (let i = 0; i < 1_005; i++) counts.add('getPet', String(i));
    counts.add('getPet', '7');
    counts.add('getPet', '1004');
    const figures = new Map(counts.figures().map(({ labels, value }) => [labels.account, value]));
    expect(figures.size).toBe(1_001);
    expect([figures.get('7'), figures.get('999'), figures.get('other')]).toEqual([2, 1, 6]);
  });

  test('show statements that requests share, known keys, and connections', async () => {
    const rises = async (names: string[], work: () => Promise<unknown>) => {
      const before = await readMetrics(service);
      await work();
      const after = await readMetrics(service);
      return names.map((name) => valueOf(after, name) - valueOf(before, name));
    };
    const many = (make: () => Promise<unknown>) => () => Promise.all(Array.from({ length: 40 }, make));
    const list = many(() => call(service, 'GET', '/v1/pets', { key }));
    const [asked, sent, lookups] = await rises(
      ['petstore_reads_asked_total', 'petstore_reads_sent_total', 'petstore_key_lookups_total'],
      list,
    );
    expect(asked).toBeGreaterThanOrEqual(40);
    expect(sent).toBeLessThan(asked!);
    expect(lookups).toBe(40);
    const body = { name: 'Luna', categoryId: 1 };
    const create = many(() => call(service, 'POST', '/v1/pets', { key, body }));
    const [writes, commits] = await rises(
      ['petstore_writes_asked_total', 'petstore_writes_sent_total'],
      create,
    );
    expect(writes).toBe(40);
    expect(commits).toBeLessThan(40);
    const metrics = await readMetrics(service);
    expect(valueOf(metrics, 'petstore_database_connections')).toBeGreaterThan(0);
    expect(valueOf(metrics, 'petstore_database_connections_max')).toBe(10);
    // The scrape itself is none.
    expect(valueOf(metrics, 'http_server_active_requests')).toBe(0);
  });

  test('are read once for all who ask at the same time', async () => {
    const { hostname, port } = new URL(service.url);
    const asked = 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(8);
    const socket = connect(Number(port), hostname);
    socket.write(`${asked}bad\r\n\r\n`);
    const answers = (await text(socket)).split('HTTP/1.1 ');
    const pages = answers.slice(1, 9).map((answer) => answer.split('\r\n\r\n')[1]);
    expect(pages[0]).toContain('process_cpu_seconds_total');
    expect(new Set(pages).size).toBe(1);
  });

  test('are on a port of their own if one is set, and only there', async () => {
    const other = await startService({ METRICS_PORT: '0' });
    await eventually(() => other.output().includes('Data'));
    const address = /Metrics +(\S+)/.exec(other.output())![1]!;
    expect(valueOf(await readMetrics({ url: address }), 'process_cpu_seconds_total')).toBeGreaterThan(0);
    const elsewhere = await call(other, 'GET', '/metrics');
    expect([elsewhere.status, elsewhere.body]).toMatchObject([404, { code: 'route_not_found' }]);
    const { origin, port } = new URL(address);
    const refused = await fetch(`${origin}/v1/pets`);
    expect([refused.status, await refused.json()]).toMatchObject([404, { code: 'route_not_found' }]);
    expect(refused.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
    const posted = await fetch(address, { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    const refusals = [
      ['no HTTP\r\n\r\n', '400', 'bad_request'],
      ['CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', '400', 'bad_request'],
      ['GET /metrics HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n', '417', 'expectation_failed'],
    ] as const;
    for (const [bytes, status, code] of refusals) {
      const answer = await text(connect(Number(port), '127.0.0.1').end(bytes));
      expect(answer.slice(9, 12)).toBe(status);
      expect(answer).toMatch(/^X-Request-Id: \S+\r$/m);
      expect(answer).toContain(`{"code":"${code}",`);
    }
    expect(await other.stop()).toBe(0);
  });
});

/** A span in OTLP's JSON. */
interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: Record<string, unknown> }[];
  links?: { traceId: string }[];
}

/** Receives spans as an OpenTelemetry Collector does. */
async function startCollector(): Promise<{ spans: Span[]; server: Server; url: string }> {
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      expect(request.url).toBe('/v1/traces');
      const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString());
      for (const { scopeSpans } of resourceSpans) {
        for (const scope of scopeSpans) spans.push(...scope.spans);
      }
      response.setHeader('Content-Type', 'application/json').end('{}');
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { spans, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const SERVER = 2;
const CLIENT = 3;

describe('Traces', () => {
  test('continue from the client through the request to its SQL, and their id is in the log', async () => {
    const { spans, server, url } = await startCollector();
    const traced = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: '100' });
    const own = await createKey(traced);
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    const path = `/v1/pets?status=sold&access_token=${own}`;
    const { headers: answered } = await call(traced, 'GET', path, { key: own, headers });
    await Promise.all(Array.from({ length: 30 }, () => call(traced, 'GET', '/v1/pets/1', { key: own })));
    expect(await lineOf(answered.get('x-request-id')!, traced)).toMatchObject({ traceId });
    expect(await traced.stop()).toBe(0);
    const ofTrace = spans.filter((span) => span.traceId === traceId);
    const request = ofTrace.find(({ kind }) => kind === SERVER)!;
    expect(request).toMatchObject({ parentSpanId: '00f067aa0ba902b7', name: 'GET /v1/pets' });
    const statements = ofTrace.filter(({ kind, name }) => kind === CLIENT && name.startsWith('pg.query'));
    expect(statements.length).toBeGreaterThan(0);
    const ids = new Map(ofTrace.map((span) => [span.spanId, span]));
    const root = (span: Span): Span =>
      ids.has(span.parentSpanId!) ? root(ids.get(span.parentSpanId!)!) : span;
    for (const statement of statements) expect(root(statement)).toBe(request);
    const shared = spans.filter(({ name }) => name === 'shared statement');
    expect(shared.some(({ links = [] }) => links.some((link) => link.traceId !== shared[0]!.traceId))).toBe(
      true,
    );
    for (const secret of [own, 'correct horse']) expect(JSON.stringify(spans)).not.toContain(secret);
    server.close();
  });

  test('load no part of the OpenTelemetry SDK when off', async () => {
    const watch = `import{registerHooks}from'node:module';registerHooks({resolve(s,c,n){if(/^@opentelemetry.(sdk|instr)/.test(s))console.error(JSON.stringify({loaded:s}));return(n(s,c))}})`;
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(watch)}`;
    const loadedBy = async (env: Record<string, string>) => {
      const other = await startService({ ...env, NODE_OPTIONS });
      await other.stop();
      return linesOf(other).filter(({ loaded }) => loaded);
    };
    expect(await loadedBy({})).toEqual([]);
    expect(await loadedBy({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })).not.toEqual([]);
  });
});

describe('Readiness', () => {
  let other: Service;
  const ready = async () => (await call(other, 'GET', '/health/ready')).status;
  beforeAll(async () => {
    other = await startService();
  });
  afterAll(() => other.stop());

  test('needs every migration of the build; liveness does not', async () => {
    const [taken] = await query<{ name: string; timestamp: string }>(
      other.databaseUrl,
      'DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations) RETURNING name, timestamp',
    );
    await eventually(async () => (await ready()) === 503);
    expect((await call(other, 'GET', '/health/live')).status).toBe(200);
    await eventually(() => other.output().includes(`lacks ${taken!.name}`));
    await query(other.databaseUrl, 'INSERT INTO migrations (timestamp, name) VALUES ($1, $2)', [
      taken!.timestamp,
      taken!.name,
    ]);
    await eventually(async () => (await ready()) === 200);
  });

  describe('of the database', () => {
    test('is asked for once, however many ask', async () => {
      const locker = new Client({ connectionString: other.databaseUrl });
      await locker.connect();
      await locker.query('BEGIN; LOCK TABLE migrations');
      // An answer to whoever asked before is good for a second.
      await sleep(1_100);
      const asking = Promise.all(Array.from({ length: 50 }, ready));
      let most = 0;
      const count = `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      const isOver = () => Promise.race([asking.then(() => true), sleep(5).then(() => false)]);
      do {
        const [row] = await query<{ count: number }>(other.databaseUrl, count);
        most = Math.max(most, row!.count);
      } while (!(await isOver()));
      await locker.end();
      expect(new Set(await asking)).toEqual(new Set([503]));
      expect(most).toBe(1);
      await eventually(async () => (await ready()) === 200);
    });

    test('is false while it hangs, within the deadline', async () => {
      const proxy = await Proxy.start(other.databaseUrl);
      const hanging = await startService({ DATABASE_URL: proxy.url });
      proxy.swallow();
      const begin = performance.now();
      const asked = Array.from({ length: 20 }, () => call(hanging, 'GET', '/health/ready'));
      expect(new Set((await Promise.all(asked)).map(({ status }) => status))).toEqual(new Set([503]));
      expect(performance.now() - begin).toBeLessThan(3_000);
      proxy.pass();
      await eventually(async () => (await call(hanging, 'GET', '/health/ready')).status === 200);
      await hanging.stop();
      proxy.stop();
    });

    test('is false where it cannot be written', async () => {
      const name = new URL(other.databaseUrl).pathname.slice(1);
      const admin = process.env.TEST_DATABASE_URL!;
      const set = async (setting: string) => {
        await query(admin, `ALTER DATABASE ${name} ${setting}`);
        // Sessions keep the setting that they began with.
        await query(admin, 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
          name,
        ]);
      };
      await set('SET default_transaction_read_only = on');
      await eventually(async () => {
        await ready();
        return other.output().includes('the database cannot be written');
      });
      expect(await ready()).toBe(503);
      await set('RESET default_transaction_read_only');
      await eventually(async () => (await ready()) === 200);
    });
  });
});

describe('The backlog of messages', () => {
  let other: Service;
  beforeAll(async () => {
    other = await startService();
  });
  afterAll(() => other.stop());

  /** Puts so many into the queue, which is emptied first, beside as many that are done and wait in no queue. */
  async function fill(count: number): Promise<void> {
    await query(other.databaseUrl, `DELETE FROM pgboss.job WHERE name = 'messages'`);
    await query(
      other.databaseUrl,
      `INSERT INTO pgboss.job (name, created_on, state, completed_on)
       SELECT 'messages', now() - i * interval '1 second', state::pgboss.job_state, now()
       FROM generate_series(1, $1::int) AS i, unnest(ARRAY['created', 'completed']) AS state`,
      [count],
    );
  }
  const names = ['petstore_messages_queued', 'petstore_jobs_waiting', 'petstore_messages_oldest_seconds'];
  const figures = async () => {
    const metrics = await readMetrics(other);
    return names.map((name) => valueOf(metrics, name, /jobs/.test(name) ? { queue: 'messages' } : {}));
  };

  test('is counted, and told with its oldest', async () => {
    await fill(12_345);
    const [queued, jobs, oldest] = await figures();
    expect([queued, jobs]).toEqual([12_345, 12_345]);
    expect(Math.round(oldest! / 100)).toBe(123);
  });

  test('is estimated to some percent if it is large, and is seen to drain', async () => {
    let left = 240_000;
    await fill(left);
    const seen = [];
    for (; left >= 90_000; left -= 50_000) {
      await eventually(async () => {
        const [queued] = await figures();
        return Math.abs(queued! - left) < 0.1 * left;
      });
      seen.push((await figures())[0]!);
      await query(
        other.databaseUrl,
        `UPDATE pgboss.job SET state = 'completed' WHERE id IN
         (SELECT id FROM pgboss.job WHERE state = 'created' ORDER BY created_on LIMIT 50000)`,
      );
    }
    await eventually(async () => (await figures())[0] === left);
    expect(seen).toEqual(seen.toSorted((a, b) => b - a));
  });
});

describe('The dashboard and the alerts', () => {
  const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
  const dashboard = JSON.parse(read('deploy/grafana/dashboard.json')) as {
    panels: { type: string; title: string; targets?: { expr: string }[] }[];
  };
  const { groups } = load(read('deploy/prometheus/alerts.yaml')) as {
    groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  const expressions = [
    ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...rules.map(({ expr }) => expr),
  ];
  /** Names of series in an expression: anything but a function, keyword, label or number. */
  const namesIn = (expr: string) =>
    [...expr.replace(/\{[^}]*\}|\[[^\]]*\]|\b(?:by|on|without)\s*\([^)]*\)/g, ' ').matchAll(/[a-z]\w*/g)]
      .map(([name]) => name)
      .filter((name) => /_/.test(name) && !/^(?:histogram_quantile|group_left|label_replace)$/.test(name));

  test('use existing metrics and labels', async () => {
    await call(service, 'GET', '/v1/pets/1', { key });
    await send(service, 'GARBAGE\r\n\r\n');
    const workers = await startService({ WORKERS: '2' });
    const samples = [...(await readMetrics(service)), ...(await readMetrics(workers))];
    await workers.stop();
    const known = new Map<string, Sample>(samples.map((sample) => [sample.name, sample]));
    expect(expressions.length).toBeGreaterThan(20);
    for (const expr of expressions) {
      const names = namesIn(expr);
      if (!/^(?:up|absent)/.test(expr)) expect(names.length).toBeGreaterThan(0);
      for (const name of names)
        expect({ expr, found: known.has(name) ? name : '' }).toEqual({ expr, found: name });
      for (const [, name, matchers] of expr.matchAll(/(\w+)\{([^}]*)\}/g)) {
        const used = [...matchers!.matchAll(/(\w+)\s*[=!]/g)].map(([, label]) => label!);
        const own = new Set(['job', 'instance', ...Object.keys(known.get(name!)?.labels ?? {})]);
        expect({ expr, used: used.filter((label) => !own.has(label)) }).toEqual({ expr, used: [] });
      }
    }
  });

  test('link each alert to its section of the manual', () => {
    const titles = [...read('docs/operating.md').matchAll(/^#+ (.+)$/gm)].map(([, title]) => title!);
    const anchors = new Set(titles.map((title) => title.toLowerCase().replaceAll(' ', '-')));
    expect(rules.length).toBeGreaterThan(8);
    for (const { alert, annotations } of rules) {
      const [, anchor] = annotations.runbook_url!.split('docs/operating.md#');
      expect({ alert, known: anchors.has(anchor!) }).toEqual({ alert, known: true });
      expect(annotations.summary).toBeTruthy();
    }
  });
});
