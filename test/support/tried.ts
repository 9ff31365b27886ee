import { applyDecorators, Controller } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Operation, Public } from '../../src/platform/index.js';

type Options = Parameters<typeof Operation>[0];

export const Tried = (path: string) => applyDecorators(ApiTags('tried'), Controller(path));
export const PublicTried = (path: string) => applyDecorators(Public(), Tried(path));

/** An operation of a `Tried` controller; its id is the name of its method. */
export function Does(needs: Options['needs'], more: Partial<Options> = {}): MethodDecorator {
  return (target, name, descriptor) =>
    Operation({ id: String(name), summary: 'It', needs, ...more })(target, name, descriptor);
}
