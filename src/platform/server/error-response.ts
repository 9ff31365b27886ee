import type { ServerResponse } from 'node:http';
import type { ApiError } from '../api/index.js';

/** An error as it is sent: every failure of the service goes through here. */
export function asResponse(error: ApiError): { headers: Record<string, string | number>; body: string } {
  const body = JSON.stringify(error);
  const type = 'application/json; charset=utf-8';
  return {
    headers: { ...error.headers, 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) },
    body,
  };
}

/** Answers with an error; where an answer has begun, all that is left is to cut it off. */
export function writeError(response: ServerResponse, error: ApiError): void {
  // It was answered when its time was over.
  if (response.writableEnded) return;
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  // What it named was undone.
  response.removeHeader('Location');
  const { headers, body } = asResponse(error);
  response.writeHead(error.status, headers).end(body);
}
