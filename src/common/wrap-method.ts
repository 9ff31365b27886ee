type Call = (args: unknown[]) => Promise<unknown>;

/** Puts something around a method of a controller. Whatever other decorators have said of it stays said. */
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
