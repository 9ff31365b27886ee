import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { newFolder, ROOT } from './npm.js';

const run = promisify(execFile);
/** Needs no network: npm's cache is empty, and this checkout provides the package's dependencies. */
const OFFLINE = ['--offline', '--install-links', '--ignore-scripts'];
const NEEDED = ['openapi-fetch', 'openapi-typescript-helpers'].map((name) =>
  join(ROOT, 'node_modules', name),
);

/** The TypeScript client's package, installed as in a user's program. */
export class ClientPackage {
  private readonly folder = newFolder();
  private readonly program = join(this.folder, 'program');

  private constructor(private readonly tarball: string) {}

  /** Builds and packs the package, and installs the tarball. */
  static async build(): Promise<ClientPackage> {
    const folder = newFolder();
    await run('npm', ['run', 'build:client'], { cwd: ROOT });
    await run('npm', ['pack', './clients/typescript', '--pack-destination', folder], { cwd: ROOT });
    const { name, version } = readPackage('clients/typescript');
    return ClientPackage.install(join(folder, `${name}-${version}.tgz`));
  }

  /** Installs a package beside a program, with everything that programs import. */
  static async install(tarball: string): Promise<ClientPackage> {
    const installed = new ClientPackage(tarball);
    const { folder, program } = installed;
    mkdirSync(program);
    installed.write('package.json', '{ "type": "module" }');
    const what = ['--cache', join(folder, 'cache'), tarball, ...NEEDED];
    await run('npm', ['install', ...OFFLINE, ...what], { cwd: program });
    return installed;
  }

  async files(): Promise<string[]> {
    const { stdout } = await run('tar', ['-tzf', this.tarball]);
    return stdout.replaceAll('package/', '').trimEnd().split('\n').toSorted();
  }

  load(): Promise<typeof import('../../clients/typescript/src/index.js')> {
    return import(pathToFileURL(join(this.program, 'node_modules/petstore-client/dist/index.js')).href);
  }

  /** Runs a program in plain JavaScript; resolves to what it prints. */
  run(source: string, env: Record<string, string>): Promise<string> {
    this.write('program.js', source);
    return this.start('program.js', env);
  }

  /** Compiles a program, then runs it; resolves to what it prints. */
  async compileAndRun(source: string, env: Record<string, string>): Promise<string> {
    await this.compile(source);
    return this.start('program.ts', env);
  }

  private async start(program: string, env: Record<string, string>): Promise<string> {
    return (await run(process.execPath, [program], { cwd: this.program, env })).stdout;
  }

  /** Compiles a program in strict TypeScript, with the package's own types checked too; fails if it has errors. */
  async compile(source: string): Promise<void> {
    this.write('program.ts', source);
    const typeRoots = [join(ROOT, 'node_modules/@types')];
    const checks = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false };
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2022',
      noEmit: true,
      types: ['node'],
      typeRoots,
    };
    const files = ['program.ts'];
    this.write(
      'tsconfig.json',
      JSON.stringify({ compilerOptions: { ...compilerOptions, ...checks }, files }),
    );
    const compiler = join(ROOT, 'node_modules/typescript-7/bin/tsc');
    const { stdout } = await run(process.execPath, [compiler], { cwd: this.program }).catch((error) => error);
    expect(stdout).toBe('');
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.program, name), text);
  }
}

/** The `package.json` of a folder of this checkout. */
export function readPackage(folder: string) {
  return JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'));
}
