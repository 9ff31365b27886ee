import { type NestApplicationOptions, RequestMethod } from '@nestjs/common';
import type { Express, IRoute, Request, RequestHandler } from 'express';
import { ApiError } from '../api/index.js';
import { OperatorError } from '../process/index.js';
import { writeError } from './errors.js';

/** Nest refuses duplicate routes, and registers a literal path before one with a parameter. */
export const ROUTING = {
  routeConflictPolicy: { duplicate: 'error' },
  routeResolutionStrategy: 'specificity',
} satisfies NestApplicationOptions;

/** The names of the HTTP methods that Nest knows. */
export const METHODS = Object.values(RequestMethod).filter((name) => typeof name === 'string');

/** The methods of a path, each with the path as its route spells it. */
type Methods = Map<string, string>;

/**
 * The routes of the HTTP adapter. Each path is one route of Express, which answers every method itself, so that a literal
 * path wins over a parameter, as in OpenAPI: `PATCH /api-keys/current` is not the `PATCH` of a key with the id `current`.
 */
export class Routes {
  private readonly routes = new Map<string, IRoute>();
  /** Keyed by the path without the names of its parameters. */
  private readonly methods = new Map<string, Methods>();

  constructor(private readonly app: Express) {}

  /** @throws OperatorError for a route that an earlier route hides, because only a parameter's name differs */
  add(method: string, path: string, handler: RequestHandler): void {
    const methods = this.methodsOf(path);
    const earlier = methods.get(method) ?? path;
    if (earlier !== path)
      throw new OperatorError(
        `${method} ${path} is never called: ${method} ${earlier} takes its requests first.`,
      );
    methods.set(method, path);
    const route = this.routes.getOrInsertComputed(path, () => this.app.route(path).all(only(methods)));
    route[method.toLowerCase() as 'get'](handler);
  }

  /** The `Allow` header for the path of a request, e.g. `GET, HEAD, OPTIONS`; empty before routing. */
  allowed({ route }: Request): string {
    return route ? allowHeader(this.methodsOf((route as IRoute).path)) : '';
  }

  private methodsOf(path: string): Methods {
    return this.methods.getOrInsertComputed(path.replaceAll(/:\w+/g, ':'), () => new Map());
  }
}

/** Answers OPTIONS, and refuses any other method that a path lacks (405). */
function only(methods: Methods): RequestHandler {
  return ({ method }, response, next) => {
    const isHead = method === 'HEAD' && methods.has('GET');
    if (isHead || methods.has(method) || methods.has('ALL')) return next();
    const headers = { Allow: allowHeader(methods) };
    if (method === 'OPTIONS') response.status(204).set(headers).end();
    else writeError(response, new ApiError('method_not_allowed', undefined, { headers }));
  };
}

function allowHeader(methods: Methods): string {
  const names = new Set([...methods.keys(), 'OPTIONS', ...(methods.has('GET') ? ['HEAD'] : [])]);
  return [...names].toSorted().join(', ');
}
