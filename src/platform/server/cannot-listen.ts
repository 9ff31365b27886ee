import { OperatorError } from '../process/index.js';

/** The operator's message when a port cannot be listened on. `name` is the variable that sets the port. */
export function cannotListen(name: 'PORT' | 'METRICS_PORT', port: number, error: unknown): OperatorError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE') {
    return new OperatorError(
      `Port ${port} is taken. Stop what listens there, or choose another with ${name}.`,
    );
  }
  return new OperatorError(`The service cannot listen on port ${port}: ${message}.`);
}
