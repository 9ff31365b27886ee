import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  mixin,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { ApiError } from './api-error.js';
import type { AuthenticatedRequest } from './caller.js';
import { Declare } from './operation-facts.js';
import type { Permission } from './permissions.js';

/**
 * @param granted the permissions of a caller; undefined stands for all
 * @param sufficient permissions of which one is enough; none need none
 * @throws ApiError `permission_denied`, which names what is missing
 */
export function requirePermission(
  granted: ReadonlySet<string> | undefined,
  sufficient: readonly string[],
): void {
  if (!granted || sufficient.length === 0) return;
  for (const one of sufficient) if (granted.has(one)) return;
  const names = sufficient.map((one) => `\`${one}\``).join(' or ');
  throw new ApiError('permission_denied', `The API key lacks the permission ${names}.`);
}

/** Has an operation need other permissions than that of its tag: one of these is enough. With none, any key will do. */
export function Needs(...permissions: Permission[]): MethodDecorator {
  return Declare({ permissions });
}

/**
 * Has an operation need the permission of what its body asks for: a key with none of them is refused before its body is
 * read; one with some before the body counts, as long as this value of it is one of these.
 * @param field a property of the body, and the permission that each of its values needs
 */
export function NeedsBy(field: string, permissions: Readonly<Record<string, Permission>>): MethodDecorator {
  return applyDecorators(
    UseGuards(guardOf(field, permissions)),
    Declare({ permissions: [...new Set(Object.values(permissions))] }),
  );
}

function guardOf(field: string, permissions: Readonly<Record<string, Permission>>): Type<CanActivate> {
  @Injectable()
  class PermissionGuard implements CanActivate {
    canActivate(context: ExecutionContext): true {
      const request = context.switchToHttp().getRequest<AuthenticatedRequest>();
      const value = (request.body as Record<string, unknown> | null)?.[field];
      if (typeof value === 'string' && Object.hasOwn(permissions, value))
        requirePermission(request.permissions, [permissions[value]!]);
      return true;
    }
  }
  return mixin(PermissionGuard);
}
