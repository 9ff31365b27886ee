import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { load } from 'js-yaml';
import { pino } from 'pino';
import { DataSource } from 'typeorm';
import { AccountCounts } from '../../src/platform/http/observability.js';
import { NestLogger } from '../../src/platform/telemetry/log.js';
import { Metrics } from '../../src/platform/telemetry/metrics.js';
import { call, createAccount, createKey, send } from '../../src/testing/client.js';
import { createDatabase, query, type Service, startService } from '../../src/testing/service.js';
import { startExtended } from '../support/extended.js';
import { readMetrics, type Sample, valueOf } from '../support/metrics.js';
import { eventually, ROOT } from '../support/npm.js';

type Line = Record<string, unknown>;

let service: Service;
let collector: Awaited<ReturnType<typeof startCollector>>;
let metricsUrl: string;
let key: string;
/** As it comes. */
let plain: Service;

beforeAll(async () => {
  collector = await startCollector(ok);
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' };
  const env = { ...traced, LOG_LEVEL: 'debug', METRICS_PORT: '0' };
  [service, plain] = await Promise.all([startService(env), startService()]);
  metricsUrl = /Metrics +(\S+)/.exec(service.output())![1]!;
  key = await createKey(service);
});
afterAll(async () => {
  await Promise.all([service.stop(), plain.stop()]);
  expect(new Set(collector.paths)).toEqual(new Set(['/v1/traces']));
  collector.stop();
});

/** Everything logged so far; anything else in the log fails the test. */
function linesOf(of: Service): Line[] {
  const written = of.output().split('\n');
  return written.filter((line) => line && !line.startsWith('  ')).map((line) => JSON.parse(line) as Line);
}

async function lineOf(requestId: string | null, of = service): Promise<Line> {
  const find = () => linesOf(of).find((line) => line.requestId === requestId && 'durationMs' in line);
  await eventually(() => find() !== undefined);
  return find()!;
}

const metricsOf = (of: Service) => readMetrics(of === service ? { url: metricsUrl } : of);

describe('The log', () => {
  test('has one line of JSON for each request, with the request id of its answer', async () => {
    const headers = { 'X-Request-Id': 'from-the-client' };
    const sent = performance.now();
    await call(service, 'GET', '/v1/pets?status=sold&limit=3', { key, headers });
    const tookMs = performance.now() - sent;
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
      traceId: expect.any(String),
    });
    expect(line.durationMs).toBeGreaterThan(0);
    expect(line.durationMs).toBeLessThan(tookMs);
    expect(linesOf(service).filter(({ requestId }) => requestId === 'from-the-client')).toHaveLength(1);
  });

  test('names a route by its template, and leaves an unknown address out', async () => {
    const known = await call(service, 'GET', '/v1/pets/4242', { key });
    expect(await lineOf(known.headers.get('x-request-id'))).toMatchObject({
      operationId: 'getPet',
      route: '/v1/pets/:petId',
      status: 404,
      code: 'pet_not_found',
    });
    const { headers } = await call(service, 'GET', '/v1/grace@example.com');
    const line = await lineOf(headers.get('x-request-id'));
    expect(line).toMatchObject({ operationId: 'none', status: 404, code: 'route_not_found' });
    expect(line).not.toHaveProperty('route');
  });

  test('shows probes only at debug', async () => {
    const { headers } = await call(service, 'GET', '/health/live');
    const line = await lineOf(headers.get('x-request-id'));
    expect(line).toMatchObject({ level: 'debug', status: 200 });
  });

  test('counts malformed requests together, however many come', async () => {
    for (let i = 0; i < 20; i++) await send(plain, 'GARBAGE\r\n\r\n');
    const told = () => linesOf(plain).filter(({ refused }) => refused !== undefined);
    await eventually(() => told().length > 0);
    expect(told().length).toBeLessThan(5);
    expect(told()[0]).toMatchObject({ level: 'info', refused: { bad_request: 1 } });
    const metrics = await metricsOf(plain);
    const name = 'http_server_refused_requests_total';
    expect(valueOf(metrics, name, { reason: 'bad_request' })).toBe(20);
    // There from the start: the first value of a series is no increase, and an alert on it would not see the first ones.
    expect(metrics).toContainEqual({ name, labels: { reason: 'overloaded' }, value: 0 });
  });
});

describe('The metrics', () => {
  test('omit a metric that takes too long to read, or has a label that it has not named', async () => {
    const metrics = new Metrics();
    metrics.gauge('unnamed', 'One whose label is not named.', () => [{ labels: { kind: 'a' }, value: 7 }]);
    metrics.gauge('never', 'One that is waited for.', () => new Promise<number>(() => {}));
    metrics.gauge('soon', 'One that is read.', () => Promise.resolve(7));
    const page = await metrics.text();
    expect(page).toMatch(/^soon 7$/m);
    expect(page).not.toMatch(/^(?:never|unnamed)\b.* \d/m);
  });

  test('count requests and their durations by operation and status', async () => {
    const before = await metricsOf(service);
    for (let i = 0; i < 3; i++) await call(service, 'GET', '/v1/categories', { key });
    await call(service, 'GET', '/v1/categories');
    const after = await metricsOf(service);
    const name = 'http_server_request_duration_seconds';
    const rise = (suffix: string, labels: Record<string, string>) =>
      valueOf(after, name + suffix, labels) - valueOf(before, name + suffix, labels);
    const operation = 'listCategories';
    expect(rise('_count', { operation, status: '200' })).toBe(3);
    expect(rise('_count', { operation, status: '401' })).toBe(1);
    expect(rise('_bucket', { operation, status: '200', le: '+Inf' })).toBe(3);
    expect(rise('_sum', { operation })).toBeGreaterThan(0);
    expect(valueOf(after, 'petstore_database_connections')).toBeGreaterThan(0);
    expect(valueOf(after, 'petstore_database_connections_max')).toBe(10);
    expect(valueOf(after, 'petstore_database_waiting')).toBe(0);
    // The scrape itself is none.
    expect(valueOf(after, 'http_server_active_requests')).toBe(0);
  });

  test('count the calls of a deprecated operation by account, of a thousand of them each', async () => {
    const account = await createAccount(service);
    const own = await createKey(service, account);
    for (let i = 0; i < 2; i++) await call(service, 'GET', '/v1/pets/1', { key: own });
    await call(service, 'GET', '/v1/pets', { key: own });
    const calls = { operation: 'getPet', account: String(account.id) };
    expect(valueOf(await metricsOf(service), 'petstore_deprecated_calls_total', calls)).toBe(2);
    const counts = new AccountCounts();
    for (let i = 0; i < 1_005; i++) counts.add('getPet', String(i));
    const figures = new Map(counts.figures().map(({ labels, value }) => [labels.account, value]));
    expect(figures.size).toBe(1_001);
    expect([figures.get('999'), figures.get('other')]).toEqual([1, 5]);
  });

  test('are on a port of their own if one is set, and only there', async () => {
    const elsewhere = await call(service, 'GET', '/metrics');
    expect([elsewhere.status, elsewhere.body]).toMatchObject([404, { code: 'route_not_found' }]);
    const { origin, port } = new URL(metricsUrl);
    const refused = await fetch(`${origin}/v1/pets`);
    expect([refused.status, await refused.json()]).toMatchObject([404, { code: 'route_not_found' }]);
    const posted = await fetch(metricsUrl, { method: 'POST' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    const refusals = [
      ['no HTTP\r\n\r\n', '400', 'bad_request'],
      ['GET /metrics HTTP/1.1\r\nHost: x\r\nExpect: miracles\r\n\r\n', '417', 'expectation_failed'],
    ] as const;
    for (const [bytes, status, code] of refusals) {
      const answer = await text(connect(Number(port), '127.0.0.1').end(bytes));
      expect(answer.slice(9, 12)).toBe(status);
      expect(answer).toMatch(/^X-Request-Id: \S+\r$/m);
      expect(answer).toContain(`{"code":"${code}",`);
    }
  });
});

interface Span {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
}

/** Receives what a collector does, keeps the spans of it that are JSON, and answers with a status, or not at all. */
async function startCollector(answer?: (response: ServerResponse) => void, http2 = false) {
  const spans: Span[] = [];
  const paths: string[] = [];
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    paths.push(request.url!);
    const sent = await text(request);
    if (sent.startsWith('{'))
      for (const { scopeSpans } of JSON.parse(sent).resourceSpans)
        for (const scope of scopeSpans) spans.push(...scope.spans);
    answer?.(response);
  };
  const server = http2
    ? createHttp2Server(listener as unknown as Parameters<typeof createHttp2Server>[0])
    : createServer(listener);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { spans, paths, url, stop: () => server.close() };
}

const ok = (response: ServerResponse) =>
  void response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');

const SERVER = 2;
const CLIENT = 3;

test('Traces continue from the client through the request to its SQL, and their id is in the log', async () => {
  const { spans } = collector;
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  const path = `/v1/pets?status=sold&access_token=${key}`;
  const { headers: answered } = await call(service, 'GET', path, { key, headers });
  expect(await lineOf(answered.get('x-request-id'))).toMatchObject({ traceId });
  const ofTrace = () => spans.filter((span) => span.traceId === traceId);
  const isRequest = ({ kind }: Span) => kind === SERVER;
  await eventually(() => ofTrace().some(isRequest));
  const request = ofTrace().find(isRequest)!;
  expect(request).toMatchObject({ parentSpanId: '00f067aa0ba902b7', name: 'GET /v1/pets' });
  const statements = ofTrace().filter(({ kind, name }) => kind === CLIENT && name.startsWith('pg.query'));
  expect(statements.length).toBeGreaterThan(0);
  const ids = new Map(ofTrace().map((span) => [span.spanId, span]));
  const root = (span: Span): Span =>
    ids.has(span.parentSpanId!) ? root(ids.get(span.parentSpanId!)!) : span;
  for (const statement of statements) expect(root(statement)).toBe(request);
  const told = JSON.stringify(spans);
  expect([key, 'correct horse'].filter((secret) => told.includes(secret))).toEqual([]);
});

const TRACES = '/v1/traces';

describe('A switch of OpenTelemetry does what its specification says:', () => {
  const GRPC = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
  test.each<[string, string[]]>([
    ['OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf', [TRACES]],
    ['OTEL_EXPORTER_OTLP_PROTOCOL=grpc', [GRPC]],
    ['OTEL_SDK_DISABLED=TRUE', []],
    ['OTEL_TRACES_EXPORTER=none', []],
    ['OTEL_TRACES_SAMPLER=always_off', []],
    // Alone.
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=URL/elsewhere', ['/elsewhere']],
    // Without a sampler of its own.
    ['OTEL_TRACES_SAMPLER_ARG=0', []],
  ])('%s', async (setting, paths) => {
    const counting = await startCollector(ok, setting.endsWith('grpc'));
    const [name, value] = setting.replace('URL', counting.url).split('=') as [string, string];
    const general: Record<string, string> = name.endsWith('_ENDPOINT')
      ? {}
      : { OTEL_EXPORTER_OTLP_ENDPOINT: counting.url };
    const env = { ...general, [name]: value };
    const traced = await startService(env);
    await call(traced, 'GET', '/v1/pets');
    // A stop sends what is left.
    expect(await traced.stop()).toBe(0);
    counting.stop();
    expect([...new Set(counting.paths)]).toEqual(paths);
  });
});

test('A variable of OpenTelemetry that has no effect is named at the start', async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER: 'jaeger_remote' };
  const traced = await startService({ ...env, OTEL_METRICS_EXPORTER: 'otlp', OTEL_PROPAGATORS: 'xray' });
  expect(traced.output()).toMatch(/^petstore: OTEL_METRICS_EXPORTER has no effect: /m);
  const messages = linesOf(
    Object.assign({}, traced, { output: () => traced.output().replace(/^petstore.*\n/m, '') }),
  );
  expect(messages).toContainEqual(
    expect.objectContaining({ level: 'warn', msg: expect.stringContaining('xray') }),
  );
  expect(messages).toContainEqual(expect.objectContaining({ msg: expect.stringContaining('jaeger_remote') }));
  await traced.stop();
});

test('A service that reads its permissions first has the spans of its pool too', async () => {
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ACCOUNT_PERMISSIONS: 'pets:read' };
  const traced = await startService(env);
  const from = collector.spans.length;
  await createAccount(traced);
  await traced.stop();
  const names = collector.spans.slice(from).map(({ name }) => name);
  expect(names).toContainEqual(expect.stringMatching(/^pg\.query/));
  expect(names).toContain('pg-pool.connect');
});

test.each<[string, ((response: ServerResponse) => void) | undefined]>([
  ['answers 400', (response) => void response.writeHead(400).end('no')],
  ['answers 503 with Retry-After', (response) => void response.writeHead(503, { 'Retry-After': '60' }).end()],
  ['does not answer', undefined],
])('A collector that %s does not change how the service stops', async (_how, answer) => {
  const counting = await startCollector(answer);
  const traced = await startService({ OTEL_EXPORTER_OTLP_ENDPOINT: counting.url });
  await call(traced, 'GET', '/v1/pets');
  const from = Date.now();
  expect(await traced.stop()).toBe(0);
  expect(Date.now() - from).toBeLessThan(4_500);
  expect(counting.paths).toEqual([TRACES]);
  // No stack: each line is one of the log.
  expect(linesOf(traced).filter(({ level }) => level === 'error')).toEqual([]);
  counting.stop();
});

describe('Readiness', () => {
  const ready = async () => (await call(service, 'GET', '/health/ready')).status;

  test('needs every migration of the build; liveness does not', async () => {
    const [taken] = await query<{ name: string; timestamp: string }>(
      service.databaseUrl,
      'DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations) RETURNING name, timestamp',
    );
    await eventually(async () => (await ready()) === 503);
    expect((await call(service, 'GET', '/health/live')).status).toBe(200);
    await eventually(() => service.output().includes(`lacks ${taken!.name}`));
    const again = 'INSERT INTO migrations (timestamp, name) VALUES ($1, $2)';
    await query(service.databaseUrl, again, [taken!.timestamp, taken!.name]);
    await eventually(async () => (await ready()) === 200);
  });
});

test('The metrics have the number of waiting messages and the age of the oldest', async () => {
  // Beside as many that are done and wait in no queue.
  await query(
    plain.databaseUrl,
    `INSERT INTO pgboss.job (name, created_on, state, completed_on)
     SELECT 'messages', now() - i * interval '1 second', state::pgboss.job_state, now()
     FROM generate_series(1, 12345) AS i, unnest(ARRAY['created', 'completed']) AS state`,
  );
  // pg-boss counts every ten seconds.
  await eventually(async () => {
    const metrics = await metricsOf(plain);
    const oldest = valueOf(metrics, 'petstore_messages_oldest_seconds');
    const waiting = valueOf(metrics, 'petstore_jobs_waiting', { queue: 'messages' });
    const queued = valueOf(metrics, 'petstore_messages_queued');
    // It is a second older each second that the count takes.
    const isOldest = oldest >= 12_345 && oldest < 12_345 + 100;
    return queued === 12_345 && waiting === 12_345 && isOldest;
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
    // The tests of workers hold this one.
    const ofWorkers: Sample = { name: 'petstore_worker_answered', labels: { pid: '1' }, value: 1 };
    const samples = [...(await metricsOf(service)), ...(await metricsOf(plain)), ofWorkers];
    const known = new Map<string, Sample>(samples.map((sample) => [sample.name, sample]));
    expect(expressions.length).toBeGreaterThan(10);
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

  test('link each alert to its section of docs/alerts.md', () => {
    const titles = [...read('docs/alerts.md').matchAll(/^#+ (.+)$/gm)].map(([, title]) => title!);
    const anchors = new Set(titles.map((title) => title.toLowerCase().replaceAll(' ', '-')));
    expect(rules.length).toBeGreaterThan(8);
    for (const { alert, annotations } of rules) {
      const [, anchor] = annotations.runbook_url!.split('docs/alerts.md#');
      expect({ alert, known: anchors.has(anchor!) }).toEqual({ alert, known: true });
      expect(annotations.summary).toBeTruthy();
    }
  });
});

/** Ways to log the error of a statement with Nest's `Logger`. */
const WAYS: ((log: Logger, error: Error) => void)[] = [
  (log, error) => log.error(error),
  (log, error) => log.error('Not stored', error),
  (log, error) => log.error('Not stored', error.stack),
  (log, error) => log.warn('Not stored', error),
  (_log, error) => new Logger().warn('Not stored', error),
  (log, error) => log.log({ msg: 'Not stored', nested: [{ error }] }),
  (log, error) => log.log('Not stored', 7, { error }),
  (log, error) => log.fatal(new Error(`Not stored: ${error.message}`, { cause: error })),
  (log, error) => log.error(new AggregateError([error], 'Not stored')),
];
const VALUE = 'grace@example.com';

@Injectable()
class LoggingProvider implements OnModuleInit {
  private readonly logger = new Logger('Team');

  constructor(private readonly database: DataSource) {}

  async onModuleInit(): Promise<void> {
    for (const statement of ['INSERT INTO taken VALUES ($1)', 'SELECT $1::text::int']) {
      const error = await this.database.query(statement, [VALUE]).catch((failure: Error) => failure);
      for (const log of WAYS) log(this.logger, error);
    }
  }
}

test('An error that a team logs shows name, message and frames, and no value of its statement', async () => {
  const databaseUrl = await createDatabase('TEMPLATE migrated');
  await query(
    databaseUrl,
    `CREATE TABLE taken (email text PRIMARY KEY); INSERT INTO taken VALUES ('${VALUE}')`,
  );
  const extended = await startExtended(databaseUrl, LoggingProvider);
  await extended.stop();
  const lines = extended.lines.filter((line) => JSON.stringify(line).includes('ot stored') || line.err);
  expect(lines).toHaveLength(2 * WAYS.length);
  expect(extended.output()).not.toContain(VALUE);
  const err = {
    type: 'QueryFailedError',
    message: 'duplicate key value violates unique constraint "taken_pkey"',
    stack: expect.stringMatching(/^ {4}at /),
  };
  const hidden = { ...err, message: 'SQLSTATE 22P02' };
  expect(lines).toMatchObject(
    [err, hidden].flatMap((one) => [
      { level: 50, context: 'Team', err: one, msg: one.message },
      { level: 50, context: 'Team', err: one, msg: 'Not stored' },
      { level: 50, context: 'Team', stack: one.stack, msg: 'Not stored' },
      { level: 40, context: 'Team', err: one, msg: 'Not stored' },
      { level: 40, err: one, msg: 'Not stored' },
      { level: 30, nested: [{ error: one }], msg: 'Not stored' },
      { level: 30, args: [7, { error: one }], msg: 'Not stored' },
      { level: 60, err: { type: 'Error', message: `Not stored: ${one.message}`, cause: one } },
      { level: 50, err: { type: 'AggregateError', message: 'Not stored', errors: [one] } },
    ]),
  );
});

test('A message that is neither a text nor an object of JSON, such as a time or an address, is written as in JSON', () => {
  const lines: object[] = [];
  const logger = new NestLogger(pino({ base: undefined }, { write: (line) => lines.push(JSON.parse(line)) }));
  for (const message of [new Date(0), new URL('http://localhost/v1'), new Date(NaN), 7])
    logger.log(message, 'Team');
  const time = expect.any(Number);
  expect(lines).toEqual(
    ['1970-01-01T00:00:00.000Z', 'http://localhost/v1', null, 7].map((msg) => {
      return { level: 30, time, context: 'Team', msg };
    }),
  );
});

// Last, as it takes a table away.
test('The log has the reason of a failure at the level of its status, and never what was sent', async () => {
  const account = await createAccount(service);
  const own = await createKey(service, account);
  const sent = ['Frida the Turtle', 'See you at nine', 'Secret Category', 'query-text', 'wrong-password-1'];
  const [name, message, category, words, password] = sent;
  await call(service, 'POST', '/v1/pets', { key: own, body: { name, categoryId: 1 } });
  await call(service, 'POST', '/v1/messages', { key: own, body: { message } });
  await call(service, 'POST', '/v1/messages', { key: own, body: `{"message": "${message}` });
  await call(service, 'POST', '/v1/accounts', { body: { email: account.email, password } });
  await call(service, 'GET', '/v1/api-keys', { account: { ...account, password: password! } });
  await call(service, 'GET', `/v1/pets?status=${words}&access_token=${own}`, { key: own });
  await call(service, 'GET', `/v1/${words}/${account.email}`, { key: own });
  // As PostgreSQL itself quotes a value that is none of its type.
  await query(
    service.databaseUrl,
    `CREATE FUNCTION quote() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN RAISE 'invalid input syntax: %', NEW.message USING ERRCODE = '22P02'; END $$;
     CREATE TRIGGER quote BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION quote()`,
  );
  const odd = await call(service, 'POST', '/v1/messages', { key: own, body: { message } });
  await query(service.databaseUrl, 'DROP TABLE categories CASCADE');
  const failed = await call(service, 'POST', '/v1/categories', { key: own, body: { name: category } });
  const linesFor = async ({ headers }: { headers: Headers }) => {
    const id = headers.get('x-request-id');
    await lineOf(id);
    return linesOf(service).filter(({ requestId }) => requestId === id);
  };
  const masked = { level: 'error', msg: expect.stringContaining('SQLSTATE 22P02') };
  expect(await linesFor(odd)).toMatchObject([masked, { level: 'warn', status: 500 }]);
  expect(await linesFor(failed)).toMatchObject([
    { level: 'error', context: 'Errors', msg: expect.stringContaining('"categories" does not exist') },
    { level: 'warn', operationId: 'createCategory', status: 500 },
  ]);
  const never = [...sent, account.email, account.password, own, own.slice(9), 'Bearer', 'Basic '];
  expect(never.filter((secret) => service.output().includes(secret))).toEqual([]);
});
