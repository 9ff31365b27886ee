import type { Request } from 'express';

interface Layer {
  route?: { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** The methods that the router knows for the path of a request, e.g. `['GET', 'HEAD']`; none for an unknown path. */
export function allowedMethods(request: Request): string[] {
  const layers = (request.app.router as unknown as { stack: Layer[] }).stack;
  const methods = new Set<string>();
  for (const layer of layers) {
    if (!layer.route || !layer.match(request.path)) continue;
    for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.has('GET')) methods.add('HEAD');
  if (methods.size > 0) methods.add('OPTIONS');
  return [...methods].toSorted();
}
