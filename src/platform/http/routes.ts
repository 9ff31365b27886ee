import { type NestApplicationOptions, RequestMethod } from '@nestjs/common';
import type { Request, RequestHandler } from 'express';
import { pathToRegexp } from 'path-to-regexp';
import { OperatorError } from '../process/index.js';

/** How Nest registers routes: none twice. */
export const ROUTING = { routeConflictPolicy: { duplicate: 'error' } } satisfies NestApplicationOptions;

/** The methods by which routes are registered. */
export const METHODS = Object.values(RequestMethod).filter((name) => typeof name === 'string');

/** A path that routes take, and their methods. */
interface Path {
  readonly path: string;
  readonly form: RegExp;
  readonly methods: Set<string>;
}

/**
 * The paths of all routes, those of Nest's controllers and of pages, as they are registered at the HTTP adapter. They are
 * compared by the library by which Express's router compares them.
 */
export class Routes {
  private readonly paths = new Map<string, Path>();

  /**
   * Adds a route, and returns its handler, which leaves to other paths what is theirs.
   * @throws OperatorError for a route whose requests an earlier one takes, which names both
   */
  add(method: string, path: string, handler: RequestHandler): RequestHandler {
    let known = this.paths.get(path);
    // As Express has it with "case sensitive routing", and without "strict routing".
    if (!known) {
      known = { path, form: pathToRegexp(path, { sensitive: true }).regexp, methods: new Set() };
      this.paths.set(path, known);
    }
    const earlier = [...this.paths.values()].find((one) => hides(one, method, path));
    if (earlier) {
      const [own, other] = [`${method} ${path}`, `${method} ${earlier.path}`];
      throw new OperatorError(
        `${own} is never called: ${other} takes its requests first. Declare the literal path before the parameter.`,
      );
    }
    known.methods.add(method);
    if (method === 'GET') known.methods.add('HEAD');
    return path.includes(':') ? this.leavingOthers(known, handler) : handler;
  }

  /** The methods for the path of a request, e.g. `['GET', 'HEAD', 'OPTIONS']`; none for an unknown path. */
  allowed({ path }: Request): string[] {
    const taking = [...this.paths.values()].filter(({ form }) => form.test(path));
    const first = taking.filter((one) => !taking.some((other) => comesBefore(other, one)));
    const methods = new Set(first.flatMap((one) => [...one.methods]));
    if (methods.size > 0) methods.add('OPTIONS');
    return [...methods].toSorted();
  }

  /**
   * Lets a segment that stands literally in a path win over a parameter of another path, whatever the method, as OpenAPI
   * has it: `PATCH /api-keys/current` is not the `PATCH` of a key with the id `current`. A request with a method that only
   * the path with the parameter has is answered like any other with a wrong method.
   */
  private leavingOthers(own: Path, handler: RequestHandler): RequestHandler {
    let others: Path[] | undefined;
    return (request, response, next) => {
      others ??= [...this.paths.values()].filter((other) => comesBefore(other, own));
      const { path, method } = request;
      const isOthers = others.some(
        ({ form, methods }) => form.test(path) && !methods.has(method) && !methods.has('ALL'),
      );
      return isOthers ? next() : handler(request, response, next);
    };
  }
}

/** Whether a parameter of the other path takes what stands literally in the one; a wildcard takes what nothing else does. */
function comesBefore(one: Path, other: Path): boolean {
  return !/[*{]/.test(one.path + other.path) && other.form.test(one.path) && !one.form.test(other.path);
}

/** Whether a path that is there already takes all requests of a route: where it has a parameter, the route has anything. */
function hides({ path, form, methods }: Path, method: string, other: string): boolean {
  return (
    path !== other &&
    !/[*{]/.test(path + other) &&
    (methods.has(method) || methods.has('ALL')) &&
    form.test(other)
  );
}
