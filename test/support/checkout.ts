import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
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
import { ROOT } from './npm.js';

const CODES = 'src/platform/api/api-error.ts';
const LEFT_OUT = new Set(['node_modules', 'dist', 'dist-bench', 'data', 'coverage', '.git', '.env']);

/** The exit code of a command, and everything it wrote. */
export interface Ended {
  code: number;
  output: string;
}

/** A copy of this checkout's sources, with the same packages, to change and build. */
export class Checkout {
  private constructor(readonly path: string) {}

  static copy(): Checkout {
    const checkout = new Checkout(mkdtempSync(join(tmpdir(), 'petstore-checkout-')));
    cpSync(ROOT, checkout.path, { recursive: true, filter: (from) => !LEFT_OUT.has(basename(from)) });
    symlinkSync(join(ROOT, 'node_modules'), join(checkout.path, 'node_modules'));
    return checkout;
  }

  read(path: string): string {
    return readFileSync(join(this.path, path), 'utf8');
  }

  exists(path: string): boolean {
    return existsSync(join(this.path, path));
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.path, path)), { recursive: true });
    writeFileSync(join(this.path, path), text);
  }

  /** Copies a folder of this checkout over the copy, or over a folder in it. */
  add(folder: string, over = ''): void {
    cpSync(join(ROOT, folder), join(this.path, over), { recursive: true });
  }

  removeFile(path: string): void {
    rmSync(join(this.path, path));
  }

  /** Takes features away, with those that import from them, as if they had never been added. */
  dropFeatures(...folders: string[]): void {
    const gone = this.withDependents(folders);
    const prefixes = [...gone].flatMap((folder) =>
      globSync(`src/${folder}/*.entity.ts`, { cwd: this.path }).map((file) =>
        basename(file, '.entity.ts').replaceAll('-', '_'),
      ),
    );
    for (const folder of gone) {
      const table = new RegExp(`\\b${folder.replaceAll('-', '_')}\\b`);
      const migrations = globSync('src/migrations/*.ts', { cwd: this.path });
      const tests = globSync(`test/${folder}{,-v*}.test.ts`, { cwd: this.path });
      for (const file of [...migrations.filter((one) => table.test(this.read(one))), ...tests])
        this.removeFile(file);
      rmSync(join(this.path, 'src', folder), { recursive: true, force: true });
      this.edit('src/app.module.ts', (text) =>
        text.replace(`  import('./${folder}/${folder}.module.js'),\n`, ''),
      );
      const request = new RegExp(`\\{\\{base\\}\\}/${folder}\\b`);
      this.edit('examples/petstore.http', (text) =>
        text
          .split(/^(?=### )/m)
          .filter((block) => !request.test(block))
          .join(''),
      );
    }
    const rest = globSync('src/*/**/*.ts', { cwd: this.path }).filter((file) => file !== CODES);
    const used = rest.map((file) => this.read(file)).join('\n');
    this.edit(CODES, (text) =>
      text.replace(/^ {2}(\w+): \{[^}]*\},\n/gm, (line, code: string) =>
        prefixes.some((prefix) => code.startsWith(`${prefix}_`)) && !used.includes(code) ? '' : line,
      ),
    );
  }

  edit(path: string, change: (text: string) => string): void {
    this.write(path, change(this.read(path)));
  }

  /** Folders of `src`, and those whose files import from one of them. */
  private withDependents(folders: string[]): Set<string> {
    const found = new Set(folders);
    const files = globSync('src/*/**/*.ts', { cwd: this.path });
    for (let size = 0; size < found.size;) {
      size = found.size;
      for (const file of files) {
        const imported = this.read(file).matchAll(/from '\.\.\/([^/']+)\//g);
        if ([...imported].some(([, folder]) => found.has(folder!))) found.add(file.split('/')[1]!);
      }
    }
    return found;
  }

  /** Runs a Node program in the copy, without the environment of this process. */
  node(...args: string[]): Promise<Ended> {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME };
    return new Promise((resolve) => {
      execFile(process.execPath, args, { cwd: this.path, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr }),
      );
    });
  }

  /** Whether every import in `src` goes in the right direction. */
  depcruise(): Promise<Ended> {
    const program = 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs';
    return this.node(program, 'src', '--output-type', 'err', '--config', '.dependency-cruiser.js');
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
