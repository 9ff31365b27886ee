import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';

/** A request that cannot be fulfilled; the message says why in one line. */
export class Refusal extends Error {}

export function refuse(reason: string): never {
  throw new Refusal(reason);
}

/** Runs a program. A refusal, also of the file system, is printed in one line on standard error, with exit code 1. */
export async function main(program: () => Promise<void>): Promise<void> {
  try {
    await program();
  } catch (error) {
    const { message, syscall } = error as NodeJS.ErrnoException;
    if (!(error instanceof Refusal || syscall)) throw error;
    console.error(message);
    process.exitCode = 1;
  }
}

/** The single name argument of a program, and its options. @throws Refusal with the usage */
export function readArguments<T extends ParseArgsOptionsConfig>(usage: string, options: T) {
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const [name, ...more] = positionals;
    if (name !== undefined && more.length === 0) return { name, values };
  } catch {
    // Unknown options get the same answer as too many names.
  }
  return refuse(usage);
}
