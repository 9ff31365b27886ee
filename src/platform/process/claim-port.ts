import { once } from 'node:events';
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net';
import { OperatorError } from './lifecycle.js';

/**
 * Returns the port if it is free (for 0, any free port). Binds the port for a moment without port sharing: with sharing,
 * the bind would succeed beside another service.
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

/** The configuration of the ports. */
interface Ports {
  PORT: number;
  METRICS_PORT?: number;
  HOST?: string;
}

/**
 * Checks that the service can listen on its ports, before it sets up anything else.
 * @throws what `net.Server.listen` emits
 */
export async function requirePorts({ PORT, METRICS_PORT, HOST: host }: Ports): Promise<void> {
  const claims: Server[] = [];
  try {
    for (const port of [PORT, METRICS_PORT].filter((one) => one !== undefined)) {
      const claim = createServer();
      await listen(claim, { port, host });
      claims.push(claim);
    }
  } finally {
    // Closed together, so that two variables with the same port conflict.
    await Promise.all(claims.map((claim) => once(claim.close(), 'close')));
  }
}

/** An `OperatorError` if the service could not listen; any other error unchanged, such as one of a feature's own server. */
export function explainListen(error: unknown, { PORT, METRICS_PORT, HOST }: Ports): unknown {
  const failure = error as NodeJS.ErrnoException & { port?: number; hostname?: string };
  const { code, message, syscall, port = PORT, hostname } = failure;
  const isOurs = syscall === 'listen' && (port === PORT || port === METRICS_PORT);
  // If HOST is a name, its look-up may fail.
  if (!isOurs && !(syscall === 'getaddrinfo' && hostname === HOST)) return error;
  const remedy = `set another port with ${port === PORT ? 'PORT' : 'METRICS_PORT'}.`;
  if (code === 'EADDRINUSE')
    return new OperatorError(`Port ${port} is taken. Stop what listens there, or ${remedy}`);
  if (code === 'EACCES')
    return new OperatorError(`Port ${port} needs more privileges: ${message}; ${remedy}`);
  // Conda sets HOST to the machine type that its compiler targets.
  const host =
    HOST && ` HOST is ${HOST}: set it to an address of this machine, or leave it empty (HOST=) for all.`;
  return new OperatorError(`The service cannot listen on port ${port}: ${message}.${host ?? ''}`);
}
