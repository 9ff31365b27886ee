import type { Type } from '@nestjs/common';
import { ApiError } from './api-error.js';
import type { Permission } from './declarations.js';
import { currentRegistry } from './registry.js';

/** All permissions with their meanings, in the order of the features. */
export function allPermissions(): Readonly<Record<string, string>> {
  return currentRegistry().permissions;
}

export function permissionNames(): Permission[] {
  return Object.keys(allPermissions()) as Permission[];
}

export function isPermission(value: unknown): value is Permission {
  return typeof value === 'string' && Object.hasOwn(allPermissions(), value);
}

/** Whether a value is a list of permissions without duplicates. */
export function arePermissions(value: unknown): value is Permission[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every(isPermission)
  );
}

/** One permission, or several of which one is enough. */
export type OneOf = Permission | readonly [Permission, ...Permission[]];

/** What a key needs for an operation; `'nothing'` opens it to any key. */
export type Needs = OneOf | NeedsBy | 'nothing';

type Scalar = string | number | bigint | boolean;
/** The possible values of a field, as property names. */
type ValuesOf<Value> = `${Extract<Value, Scalar>}`;

/** What the credentials of a request allow. */
export interface Credentials {
  /** The id of the API key; undefined for an access token. */
  keyId?: string;
  /** The granted permissions; undefined for all. */
  permissions?: ReadonlySet<string>;
}

/** The permissions that a request needs, by the value of a field in its body. */
export class NeedsBy {
  private static readonly bodies = new WeakSet<object>();

  /** Whether, for some operation, a body of this class decides which permission is needed. */
  static isFor(type: object): boolean {
    return NeedsBy.bodies.has(type);
  }

  /** The permissions of all values. Before the body is read, a key needs one of them. */
  readonly all: readonly string[];

  constructor(
    readonly body: Type<object>,
    private readonly field: string,
    private readonly permissions: Readonly<Record<string, OneOf>>,
  ) {
    this.all = [...new Set(Object.values(permissions).flat())];
    NeedsBy.bodies.add(body);
  }

  /**
   * Requires the permission for the field's value in a validated body. Without a value, any one permission is enough; a value
   * that is not listed needs all permissions.
   * @throws ApiError `permission_denied`
   */
  require(credentials: Credentials, body: object): void {
    const value = (body as Record<string, Scalar | object | null | undefined>)[this.field];
    if (value === undefined || value === null) return;
    const name = typeof value === 'object' ? undefined : String(value);
    if (name === undefined || !Object.hasOwn(this.permissions, name)) this.requireAll(credentials);
    else requirePermission(credentials, [this.permissions[name]!].flat());
  }

  /** Requires each of the permissions. @throws ApiError `permission_denied` */
  requireAll(credentials: Credentials): void {
    for (const one of this.all) requirePermission(credentials, [one]);
  }
}

/**
 * Chooses the required permission by a field of the validated body:
 * `needs: needsBy(OrderChangeDto, 'status', { approved: 'orders:manage', cancelled: 'orders:write' })`.
 */
export function needsBy<Body extends object, Field extends keyof Body & string>(
  body: Type<Body>,
  field: Field,
  permissions: Readonly<Record<ValuesOf<Body[Field]>, OneOf>>,
): NeedsBy {
  return new NeedsBy(body, field, permissions);
}

/**
 * @param sufficient permissions of which one is enough; an empty list requires none
 * @throws ApiError `permission_denied`, which names the missing permission
 */
export function requirePermission({ keyId, permissions }: Credentials, sufficient: readonly string[]): void {
  if (!permissions || sufficient.length === 0) return;
  for (const name of sufficient) if (permissions.has(name)) return;
  const names = sufficient.map((name) => `\`${name}\``).join(' or ');
  if (keyId === undefined)
    throw insufficientScope(`The access token lacks the permission ${names}.`, sufficient);
  throw new ApiError('permission_denied', `The API key lacks the permission ${names}.`);
}

/** `permission_denied` for an access token (RFC 6750, 3.1). */
export function insufficientScope(message: string, missing: readonly string[]): ApiError {
  const scope = missing.length > 0 ? `, scope="${missing.join(' ')}"` : '';
  const headers = { 'WWW-Authenticate': `Bearer realm="petstore", error="insufficient_scope"${scope}` };
  return new ApiError('permission_denied', message, { headers });
}
