import { once } from 'node:events';
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net';
import { OperatorError } from './lifecycle.js';

/**
 * Returns the port if it is free (for 0, any free port). Binds it for a moment without port sharing: with sharing, the
 * bind would succeed beside another service.
 * @throws what `net.Server.listen` emits, such as EADDRINUSE
 */
export async function claimPort(port: number, host?: string): Promise<number> {
  const claim = createServer();
  await listen(claim, { port, host });
  const { port: claimed } = claim.address() as AddressInfo;
  claim.close();
  await once(claim, 'close');
  return claimed;
}

/** @throws what `net.Server.listen` emits, such as EADDRINUSE */
export async function listen(server: Server, options: ListenOptions): Promise<void> {
  server.listen(options);
  await once(server, 'listening');
}

/**
 * Checks that the service can listen on its ports, before it sets up anything else.
 * @param ports keyed by the environment variable that sets each
 * @throws OperatorError that names the variable
 */
export async function requirePorts(ports: Record<string, number | undefined>, host?: string): Promise<void> {
  const claims: Server[] = [];
  try {
    for (const [name, port] of Object.entries(ports)) {
      if (port === undefined) continue;
      const claim = createServer();
      await listen(claim, { port, host }).catch((error) => {
        throw cannotListen(name, port, error, host);
      });
      claims.push(claim);
    }
  } finally {
    // Closed together, so that two variables with the same port conflict.
    await Promise.all(claims.map((claim) => once(claim.close(), 'close')));
  }
}

/** The operator's message for a port that cannot be bound. `name` is the variable that sets the port. */
export function cannotListen(name: string, port: number, error: unknown, host?: string): OperatorError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new OperatorError(`Port ${port} is taken. Stop what listens there, or set another with ${name}.`);
  if (code === 'EACCES')
    return new OperatorError(`Port ${port} needs more privileges: ${message}. Set another with ${name}.`);
  // Conda sets HOST to the machine type that its compiler targets.
  const remedy = host
    ? ` HOST is ${host}: set it to an address of this machine, or leave it empty (HOST=) for all.`
    : '';
  return new OperatorError(`The service cannot listen on port ${port}: ${message}.${remedy}`);
}
