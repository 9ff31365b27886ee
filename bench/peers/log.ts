import type { IncomingMessage, ServerResponse } from 'node:http';
import { destination, pino } from 'pino';

/** Lines of JSON on standard error, written together, as the service writes its own. */
const log = pino(
  { formatters: { level: (label) => ({ level: label }) } },
  destination({ dest: 2, sync: false, minLength: 8_192, periodicFlush: 100 }),
);

/** Logs a request once its answer has been sent. */
export function logRequest(requestId: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, url } = request;
  const startedAt = performance.now();
  response.once('finish', () => {
    const durationMs = Math.round((performance.now() - startedAt) * 100) / 100;
    log.info({ requestId, method, url, status: response.statusCode, durationMs });
  });
}
