import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';

/** A request that cannot be fulfilled, for the reason that its message gives in one line. */
export class Refusal extends Error {}

export function refuse(reason: string): never {
  throw new Refusal(reason);
}

/** Runs a program; a refusal is one line on standard error, and exit code 2. */
export async function main(program: () => Promise<void>): Promise<void> {
  try {
    await program();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.error(error.message);
    process.exitCode = 2;
  }
}

/** The one name that a program is given, and its options. @throws Refusal that says how to use it */
export function readArguments<T extends ParseArgsOptionsConfig>(usage: string, options: T) {
  try {
    const { values, positionals } = parseArgs({ options, allowPositionals: true });
    const [name, ...more] = positionals;
    if (name !== undefined && more.length === 0) return { name, values };
  } catch {
    // Unknown options are answered like a name too many.
  }
  return refuse(usage);
}
