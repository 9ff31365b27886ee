import { randomBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { read } from 'read';
import { OperatorError } from '../operator-error.js';

/** A new password of 192 random bits. */
export function generatePassword(): string {
  return randomBytes(24).toString('base64url');
}

/**
 * Asks for a password on the terminal, where it is not shown, or takes the first line of the standard input. It is never
 * an argument: those stand in the history of the shell and in the list of processes.
 */
export async function readPassword(): Promise<string> {
  if (process.stdin.isTTY) return read({ prompt: 'Password:', silent: true, output: process.stderr });
  const [line] = (await text(process.stdin)).split(/\r?\n/, 1);
  if (!line) throw new OperatorError('There is no password on the standard input.');
  return line;
}
