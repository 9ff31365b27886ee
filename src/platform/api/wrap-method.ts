type Call = (args: unknown[]) => Promise<unknown>;

/** Wraps a controller method. The metadata of other decorators is kept. */
export function wrapMethod(descriptor: PropertyDescriptor, around: (call: Call) => Call): void {
  const method = descriptor.value as (...args: unknown[]) => Promise<unknown>;
  const wrapped = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
    return around((given) => method.apply(this, given))(args);
  };
  for (const key of Reflect.getMetadataKeys(method)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, method), wrapped);
  }
  descriptor.value = Object.defineProperty(wrapped, 'name', { value: method.name });
}
