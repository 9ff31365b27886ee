import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Connections } from '../database/connections.js';
import type { HttpAdapter } from './http-adapter.js';

/** So many times as many as there are connections may wait for one: a tenth of a second, if each is used for some ms. */
const ROUNDS = 10;

/** Tells the HTTP server when the database is what requests wait for, so that no client makes others wait with it. */
@Injectable()
export class DatabaseBacklog {
  constructor({ httpAdapter }: HttpAdapterHost<HttpAdapter>, { primary: pool }: Connections) {
    httpAdapter.admission.overload.isBacklogged = () => pool.waitingCount > ROUNDS * pool.options.max;
  }
}
