import { AsyncLocalStorage } from 'node:async_hooks';
import type { Response } from 'express';
import { isObservable, mergeMap } from 'rxjs';
import { currentWork } from '../process/index.js';
import { locate } from './reply.js';
import type { RoutedRequest } from './request.js';

/** A value that a method of a controller returns before it is made, such as an `Insert`. */
export abstract class Deferred<T extends object = object> {
  abstract run(): Promise<T>;
}

/** Makes the value that a method returns in the current call; by default, its `run` does. */
export const makingDeferred = new AsyncLocalStorage<(value: Deferred) => Promise<object>>();

type Method = (...args: unknown[]) => unknown;

const making = new WeakSet<object>();

/**
 * Makes the `Deferred` that a method returns, and sets its `Location`, before any interceptor sees the value. Nest has no
 * place closer to the method than the method itself: which interceptor is the innermost depends on the order of decorators.
 */
export function MakesDeferred(): MethodDecorator {
  return (_target, name, descriptor) => {
    const method = descriptor.value as Method;
    if (making.has(method)) return;
    const makes = function (this: unknown, ...args: unknown[]): unknown {
      const value = method.apply(this, args);
      // Events of a stream go on in the same turn.
      if (isObservable(value))
        return value.pipe(mergeMap((one) => (one instanceof Deferred ? make(one) : [one])));
      return value instanceof Promise ? value.then(made) : made(value);
    };
    making.add(makes);
    Object.defineProperty(makes, 'name', { value: name });
    // Keeps what other decorators have noted at the method: `Reflect.getMetadata` looks at prototypes too.
    Object.setPrototypeOf(makes, method);
    descriptor.value = makes as typeof descriptor.value;
  };
}

const made = (value: unknown) => (value instanceof Deferred ? make(value) : value);

function make(value: Deferred): Promise<object> {
  const { response } = currentWork.getStore() ?? {};
  return (makingDeferred.getStore()?.(value) ?? value.run()).then((row) => {
    if (response) locate(response.req as RoutedRequest, response as Response, row);
    return row;
  });
}
