import { type AuthenticatedRequest, clientAddress, requirePermission } from '../platform/api/index.js';
import type { KeyOwner } from './key-cache.js';
import { requireNetwork } from './networks.js';

const BEARER = /^bearer +(?=\S)/i;

type Admitted = Pick<AuthenticatedRequest, 'accountId' | 'keyId' | 'permissions'> &
  Pick<Partial<KeyOwner>, 'networks'>;

/** The key that a request comes with (RFC 6750, 2.1); undefined if it comes with none. */
export function bearerKey({ headers: { authorization = '' } }: AuthenticatedRequest): string | undefined {
  const [scheme] = BEARER.exec(authorization) ?? [];
  return scheme && authorization.slice(scheme.length);
}

/**
 * Lets a request in as that of an account.
 * @throws ApiError `permission_denied` where its key may not be used for that, or from there
 */
export function admit(
  request: AuthenticatedRequest,
  { accountId, keyId, permissions, networks }: Admitted,
): true {
  request.accountId = accountId;
  request.keyId = keyId;
  request.permissions = permissions;
  if (networks) requireNetwork(networks, clientAddress(request));
  requirePermission(permissions, request.operation.permissions);
  return true;
}
