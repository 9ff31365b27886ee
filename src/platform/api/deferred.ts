import { AsyncLocalStorage } from 'node:async_hooks';
import type { Response } from 'express';
import { isObservable, mergeMap } from 'rxjs';
import { currentWork } from '../process/index.js';
import { locate } from './reply.js';
import type { RoutedRequest } from './request.js';

/** A controller method returns this for a value that is made later, such as the row of an `Insert`. */
export abstract class Deferred<T extends object = object> {
  abstract run(): Promise<T>;
}

/** The function that makes the value of each `Deferred` of the current call; by default, `Deferred.run`. */
export const makingDeferred = new AsyncLocalStorage<(value: Deferred) => Promise<object>>();

type Method = (...args: unknown[]) => unknown;

const making = new WeakSet<object>();

/**
 * Makes the value of a returned `Deferred`, and sets the `Location`, before any interceptor sees the value. Wraps the method,
 * as no interceptor is sure to be the innermost: the order of the decorators decides.
 */
export function MakesDeferred(): MethodDecorator {
  return (_target, name, descriptor) => {
    const method = descriptor.value as Method;
    if (making.has(method)) return;
    const makes = function (this: unknown, ...args: unknown[]): unknown {
      const value = method.apply(this, args);
      // Wrapped in an array, an ordinary event is passed on synchronously.
      if (isObservable(value))
        return value.pipe(mergeMap((one) => (one instanceof Deferred ? make(one) : [one])));
      return value instanceof Promise ? value.then(made) : made(value);
    };
    making.add(makes);
    Object.defineProperty(makes, 'name', { value: name });
    // Keeps the metadata of other decorators: `Reflect.getMetadata` also looks at prototypes.
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
