import { once } from 'node:events';
import { type AddressInfo, createServer, type ListenOptions, Server } from 'node:net';

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
