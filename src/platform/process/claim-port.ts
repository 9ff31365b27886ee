import { once } from 'node:events';
import { type AddressInfo, createServer, type ListenOptions, Server } from 'node:net';
import { OperatorError } from './lifecycle.js';

/**
 * Makes sure that a port is free, and returns it (for 0, any free one). A socket without port sharing binds it for a
 * moment: sockets that share a port would also share it with another service.
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
 * Makes sure that the service can listen where it is told to, before anything else is set up.
 * @param ports by the variable that sets each
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
    // Only now, so that two variables with the same port are found too.
    await Promise.all(claims.map((claim) => once(claim.close(), 'close')));
  }
}

/** The operator's message when a port cannot be listened on. `name` is the variable that sets the port. */
export function cannotListen(name: string, port: number, error: unknown, host?: string): OperatorError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new OperatorError(
      `Port ${port} is taken. Stop what listens there, or choose another with ${name}.`,
    );
  if (code === 'EACCES')
    return new OperatorError(`Port ${port} needs more rights: ${message}. Choose another with ${name}.`);
  // A shell of conda sets HOST to the kind of machine that it compiles for.
  const remedy = host
    ? ` HOST is ${host}: set it to an address of this machine, or to nothing (HOST=) for all.`
    : '';
  return new OperatorError(`The service cannot listen on port ${port}: ${message}.${remedy}`);
}
