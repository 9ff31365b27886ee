import { StartupError } from '../config.js';

/** What the operator is told where a port cannot be listened on. */
export function cannotListen(port: number, error: unknown): StartupError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new StartupError(`Port ${port} is taken. Stop what listens there, or choose another with PORT.`);
  }
  return new StartupError(`The service cannot listen on port ${port}: ${message}.`);
}
