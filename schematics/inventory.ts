import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refuse } from './program.ts';
import { type Names, pascal, snake, spoken } from './words.ts';

/** The folder of this package: its sources, or its build. */
export const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const KIND = import.meta.url.slice(-2);

/** Reads a text file with normalised line ends. */
export const read = (path: string): string => readFileSync(path, 'utf8').replaceAll('\r\n', '\n');

/** A feature that another feature refers to. */
export interface Target {
  table: string;
  Name: string;
  /** The module that its entity is imported from. */
  from: string;
  word: string;
  code: string;
  /** The name of the request that creates a row. */
  request: string;
  /** Whether the feature belongs to a team, so that its rows may be deleted. */
  isAdded: boolean;
}

/** The existing features, in a folder and in the pet store. */
export class Inventory {
  private readonly files = new Map<string, string>();
  private readonly requests: Map<string, string>;

  constructor(folder: string) {
    for (const root of new Set([join(PACKAGE, 'src'), join(folder, 'src')]))
      for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' }))
        if (/\.(?:(?:entity|controller|declarations)\.[jt]s|http)$/.test(path))
          this.files.set(join(root, path), read(join(root, path)));
    const all = [read(join(PACKAGE, 'examples/petstore.http')), ...this.files.values()];
    const requests = all.flatMap((text) => text.split(/^(?=### )/m));
    this.requests = new Map(requests.map((text) => [/^# @name (\w+)$/m.exec(text)?.[1] ?? '', text.trim()]));
  }

  /** @throws Refusal if another feature has the table, the address or the code */
  requireUnused({ files, table, code }: Names): void {
    const reserved = {
      [`the table ${table}`]: `Entity\\('${table}'`,
      [`the address /${files}`]: `Controller\\((?:\\{ path: )?'${files}'`,
      [`the code ${code}_not_found`]: `^ +${code}_not_found:`,
    };
    for (const [what, pattern] of Object.entries(reserved))
      if (this.has(pattern)) refuse(`"${files}" cannot be added: another feature has ${what}.`);
  }

  private has(pattern: string): boolean {
    return [...this.files.values()].some((text) => new RegExp(pattern, 'm').test(text));
  }

  /** The feature that `ref(plural)` refers to. @throws Refusal */
  target(plural: string): Target {
    const table = snake(plural);
    const [path, text] =
      [...this.files].find(([, source]) => source.includes(`Entity('${table}'`)) ??
      refuse(`ref(${plural}): there is no table ${table}.`);
    const [, folder, file] = /([^\\/]+)[\\/]([^\\/]+)\.entity\.[jt]s$/.exec(path)!;
    const product = read(join(PACKAGE, `src/product.${KIND}`));
    const isAdded = !path.startsWith(PACKAGE) || !product.includes(`'./${folder}/`);
    const [entity, code] = [`${folder}/${file}.entity.js`, `${snake(file!)}_not_found`];
    const adding = new RegExp(`^POST {{base}}/(?:[\\w-]+/)*${plural}$`, 'm');
    const request = [...this.requests].find(([, post]) => adding.test(post))?.[0];
    const isKnown =
      text.includes('IdColumn(') && (isAdded || product.includes(entity)) && this.has(` ${code}:`);
    if (!isKnown || !request)
      refuse(`ref(${plural}): it needs an IdColumn, the code ${code}, and a named POST in a .http file.`);
    const from = isAdded ? `../${entity}` : 'petstore/product';
    return { table, Name: pascal(file!), from, word: spoken(file!), code, request, isAdded };
  }

  /** The requests with these names, each after those it refers to. */
  requestsOf(names: string[], found = new Map<string, string>()): Map<string, string> {
    for (const name of names) {
      const text = this.requests.get(name)!;
      // Every file has the request for a key.
      if (found.has(name) || name === 'key') continue;
      const required = Array.from(text.matchAll(/\{\{(\w+)\.response\./g), ([, request]) => request!);
      this.requestsOf(required, found).set(name, text);
    }
    return found;
  }
}
