import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { read } from 'read';
import { OperatorError } from '../../platform/process/index.js';

/** A new password of 192 random bits. */
export function generatePassword(): string {
  return randomBytes(24).toString('base64url');
}

/**
 * Asks for a password on the terminal, without echo, or takes the first line of standard input. It is never an
 * argument: arguments end up in the shell's history and the process list.
 */
export async function readPassword(): Promise<string> {
  if (process.stdin.isTTY) return read({ prompt: 'Password:', silent: true, output: process.stderr });
  const [line] = (await text(process.stdin)).split(/\r?\n/, 1);
  if (!line) throw new OperatorError('There is no password on standard input.');
  return line;
}
