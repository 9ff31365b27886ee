import { type NestApplicationOptions, RequestMethod } from '@nestjs/common';
import type { Request, RequestHandler } from 'express';
import { pathToRegexp } from 'path-to-regexp';
import { OperatorError } from '../process/index.js';

/** Nest refuses duplicate routes. */
export const ROUTING = { routeConflictPolicy: { duplicate: 'error' } } satisfies NestApplicationOptions;

/** The names of the HTTP methods that Nest knows. */
export const METHODS = Object.values(RequestMethod).filter((name) => typeof name === 'string');

/** The path of routes, and their methods. */
interface Path {
  readonly path: string;
  readonly form: RegExp;
  readonly methods: Set<string>;
}

/** The paths of all routes of the HTTP adapter, compared by the library of Express's router. */
export class Routes {
  private readonly paths = new Map<string, Path>();

  /**
   * Adds a route. Returns its handler, wrapped so that literal paths win over parameters.
   * @throws OperatorError for a route that an earlier route hides; names both
   */
  add(method: string, path: string, handler: RequestHandler): RequestHandler {
    let entry = this.paths.get(path);
    // Express: "case sensitive routing" on, "strict routing" off.
    if (!entry) {
      entry = { path, form: pathToRegexp(path, { sensitive: true }).regexp, methods: new Set() };
      this.paths.set(path, entry);
    }
    const earlier = [...this.paths.values()].find((candidate) => hides(candidate, method, path));
    if (earlier)
      throw new OperatorError(
        `${method} ${path} is never called: ${method} ${earlier.path} takes its requests first. Declare the literal path before the parameter.`,
      );
    entry.methods.add(method);
    if (method === 'GET') entry.methods.add('HEAD');
    return path.includes(':') ? this.yieldingToLiterals(entry, handler) : handler;
  }

  /** The `Allow` header for the path of a request, e.g. `GET, HEAD, OPTIONS`; empty for an unknown path. */
  allowed({ path }: Request): string {
    const matching = [...this.paths.values()].filter(({ form }) => form.test(path));
    const first = matching.filter((entry) => !matching.some((rival) => isMoreLiteral(rival, entry)));
    const methods = new Set(first.flatMap((entry) => [...entry.methods]));
    if (methods.size > 0) methods.add('OPTIONS');
    return [...methods].toSorted().join(', ');
  }

  /**
   * Lets a literal segment win over a parameter of another path, whatever the method, as in OpenAPI: `PATCH
   * /api-keys/current` is not the `PATCH` of a key with the id `current`. A method that only the path with the parameter has
   * is a wrong method (405).
   */
  private yieldingToLiterals(own: Path, handler: RequestHandler): RequestHandler {
    let literals: Path[] | undefined;
    return (request, response, next) => {
      literals ??= [...this.paths.values()].filter((entry) => isMoreLiteral(entry, own));
      const { path, method } = request;
      const yields = literals.some(
        ({ form, methods }) => form.test(path) && !methods.has(method) && !methods.has('ALL'),
      );
      return yields ? next() : handler(request, response, next);
    };
  }
}

/** Whether a parameter of the second path matches a literal of the first; a path with a wildcard comes last anyway. */
function isMoreLiteral(first: Path, second: Path): boolean {
  return (
    !/[*{]/.test(first.path + second.path) && second.form.test(first.path) && !first.form.test(second.path)
  );
}

/** Whether an earlier path matches all requests of a route. */
function hides({ path, form, methods }: Path, method: string, route: string): boolean {
  return (
    path !== route &&
    !/[*{]/.test(path + route) &&
    (methods.has(method) || methods.has('ALL')) &&
    form.test(route)
  );
}
