import { spawnSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { ROOT, runNode } from './npm.js';

const LEFT_OUT = new Set(['node_modules', 'dist', 'dist-bench', 'coverage', '.git', '.env']);

/** A copy of this checkout's sources, with the same packages, to change and build. */
export class Checkout {
  /** The environment of the programs that the copy runs. */
  readonly env: Record<string, string> = {};

  private constructor(readonly path: string) {}

  /**
   * @param from this checkout, or another copy in its current state
   * @param name part of the new folder's name
   */
  static copy(from = ROOT, name = ''): Checkout {
    const checkout = new Checkout(mkdtempSync(join(tmpdir(), `petstore-checkout-${name}`)));
    // Another test may build the client meanwhile; that build copies the licence.
    const made = new Set([join(from, 'data'), join(from, 'clients/typescript/LICENSE')]);
    const isCopied = (path: string) => !LEFT_OUT.has(basename(path)) && !made.has(path);
    cpSync(from, checkout.path, { recursive: true, filter: isCopied });
    symlinkSync(join(ROOT, 'node_modules'), join(checkout.path, 'node_modules'));
    return checkout;
  }

  read(path: string): string {
    return readFileSync(join(this.path, path), 'utf8');
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.path, path)), { recursive: true });
    writeFileSync(join(this.path, path), text);
  }

  /** Writes a text before another one, which must be in the file. */
  insert(path: string, before: string, text: string): void {
    const parts = this.read(path).split(before);
    if (parts.length === 1) throw new Error(`${path} has no ${before}`);
    this.write(path, [parts[0], text, before, parts.slice(1).join(before)].join(''));
  }

  /** Copies a folder of this checkout over the copy, or over a folder of the copy. */
  add(folder: string, over = ''): void {
    cpSync(join(ROOT, folder), join(this.path, over), { recursive: true });
  }

  removeFile(path: string): void {
    rmSync(join(this.path, path));
  }

  removeFolder(path: string): void {
    rmSync(join(this.path, path), { recursive: true, force: true });
  }

  find(pattern: string): string[] {
    return globSync(pattern, { cwd: this.path });
  }

  async node(...args: string[]): Promise<{ code: number; output: string }> {
    const { code, stdout, stderr } = await runNode(args, { cwd: this.path, env: this.env });
    return { code, output: stdout + stderr };
  }

  /** The differences between the copy and this checkout, as `diff` prints them; empty if there are none. */
  differences(): string {
    const origin = Checkout.copy();
    const args = ['-r', '--no-dereference', origin.path, this.path];
    const { stdout, error } = spawnSync('diff', args, { encoding: 'utf8' });
    origin.remove();
    if (error) throw error;
    return stdout;
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
