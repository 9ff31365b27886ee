import { NotFoundException } from '@nestjs/common';
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express';

/**
 * What Express's router is made of, of which neither its types nor its documentation tell anything. With it, the paths of
 * pages, which are Express's own routes, are known, and no second matcher decides otherwise than Express's.
 */
interface Layer {
  route?: { path: string; methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** Express's name of a method for a route that takes every one. */
const EVERY = '_ALL';

/** A path that routes take, and their methods. */
interface Path {
  path: string;
  methods: Set<string>;
  match(path: string): boolean;
}

/** The methods that the router knows for the path of a request, e.g. `['GET', 'HEAD']`; none for an unknown path. */
export function allowedMethods({ app, path }: Request): string[] {
  const taking = pathsOf(app as Express).filter((one) => one.match(path));
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
export function literalFirst(app: Express): RequestHandler {
  let known: { byName: Map<string, Path>; others: Path[] } | undefined;
  return (request: Request, _response: Response, next: NextFunction) => {
    known ??= shadowing(pathsOf(app));
    const path = request.path.endsWith('/') ? request.path.slice(0, -1) : request.path;
    const literal = known.byName.get(path) ?? known.others.find((one) => one.match(path));
    if (literal && !literal.methods.has(request.method)) next(new NotFoundException());
    else next();
  };
}

/** The paths that come before another one which takes other methods: those without parameters by their text. */
function shadowing(paths: Path[]): { byName: Map<string, Path>; others: Path[] } {
  const all = paths.filter(
    (one) =>
      !one.methods.has(EVERY) &&
      paths.some((other) => comesBefore(one, other) && !other.methods.isSubsetOf(one.methods)),
  );
  const [named = [], others = []] = [true, false].map((is) =>
    all.filter(({ path }) => isLiteral(path) === is),
  );
  return { byName: new Map(named.map((one) => [one.path, one])), others };
}

/** Whether a parameter of the other path takes what stands literally in the one; a wildcard takes what nothing else does. */
function comesBefore(one: Path, other: Path): boolean {
  return !/[*{]/.test(one.path + other.path) && other.match(one.path) && !one.match(other.path);
}

function isLiteral(path: string): boolean {
  return !path.includes(':');
}

function pathsOf({ router }: Express): Path[] {
  const { stack } = router as unknown as { stack: Layer[] };
  const paths = new Map<string, Path>();
  for (const layer of stack) {
    if (typeof layer.route?.path !== 'string') continue;
    const { path, methods } = layer.route;
    const known = paths.get(path) ?? { path, methods: new Set(), match: (text) => layer.match(text) };
    for (const name of Object.keys(methods)) known.methods.add(name.toUpperCase());
    if (known.methods.has('GET')) known.methods.add('HEAD');
    paths.set(path, known);
  }
  return [...paths.values()];
}
