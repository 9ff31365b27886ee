import type { Express, Request } from 'express';

/** A route of Express's router. */
export interface Route {
  /** As it was registered, such as `/v1/pets/:petId`. */
  path: string;
  /** In upper case. */
  methods: string[];
  matches(path: string): boolean;
}

/** What Express's router is made of, of which its types tell nothing. */
interface Layer {
  route?: { path: string; methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** Every route that the router knows by now. */
export function routesOf(app: Express): Route[] {
  const { stack } = app.router as unknown as { stack: Layer[] };
  return stack.flatMap((layer) => {
    const { route } = layer;
    if (!route) return [];
    const methods = Object.keys(route.methods).map((method) => method.toUpperCase());
    return [{ path: route.path, methods, matches: (path: string) => layer.match(path) }];
  });
}

/** The methods that the router knows for the path of a request, e.g. `['GET', 'HEAD']`; none for an unknown path. */
export function allowedMethods({ app, path }: Request): string[] {
  const taking = routesOf(app as Express).filter((route) => route.matches(path));
  const methods = new Set(taking.flatMap((route) => route.methods));
  if (methods.has('GET')) methods.add('HEAD');
  if (methods.size > 0) methods.add('OPTIONS');
  return [...methods].toSorted();
}
