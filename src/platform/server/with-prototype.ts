/**
 * Subclass of a Node class whose instances have Express's prototype from the start. Express sets it on every request;
 * changing a prototype makes V8 drop its optimizations for the object (2 µs).
 */
export function withPrototype<Class extends new (...args: never[]) => object>(
  base: Class,
  prototype: object,
): Class {
  function Made(...args: unknown[]): object {
    return Reflect.construct(base, args, Made);
  }
  Made.prototype = prototype;
  return Made as unknown as Class;
}
