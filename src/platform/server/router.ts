import type { Request } from 'express';

/** What Express's router is made of, of which its types tell nothing. */
interface Layer {
  route?: { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** The methods that the router knows for the path of a request, e.g. `['GET', 'HEAD']`; none for an unknown path. */
export function allowedMethods({ app, path }: Request): string[] {
  const { stack } = app.router as unknown as { stack: Layer[] };
  const taking = stack.flatMap((layer) => (layer.route && layer.match(path) ? [layer.route] : []));
  const names = taking.flatMap((route) => Object.keys(route.methods));
  const methods = new Set(names.map((name) => name.toUpperCase()));
  if (methods.has('GET')) methods.add('HEAD');
  if (methods.size > 0) methods.add('OPTIONS');
  return [...methods].toSorted();
}
