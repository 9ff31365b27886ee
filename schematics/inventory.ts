import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refuse } from './program.ts';
import { type Names, pascal, snake, spoken } from './words.ts';

/** This package: its sources, or what is built of them. */
export const PACKAGE = fileURLToPath(new URL('..', import.meta.url));
const KIND = import.meta.url.slice(-2);

/** A text file, whatever its line ends are. */
export const read = (path: string): string => readFileSync(path, 'utf8').replaceAll('\r\n', '\n');

/** A feature that another one refers to. */
export interface Target {
  table: string;
  Name: string;
  /** Where its entity is imported from. */
  from: string;
  word: string;
  code: string;
  /** The name of the request that adds a row. */
  request: string;
  /** Whether it is a team's: its rows may be deleted. */
  isAdded: boolean;
}

/** What there is already: of the features in a folder, and of the pet store. */
export class Inventory {
  /** Entities, controllers, errors and requests by their paths. */
  private readonly files = new Map<string, string>();
  /** The requests that have names, by which later ones refer to them. */
  private readonly requests: Map<string, string>;

  constructor(folder: string) {
    for (const root of new Set([join(PACKAGE, 'src'), join(folder, 'src')]))
      for (const path of readdirSync(root, { recursive: true, encoding: 'utf8' }))
        if (/\.(?:(?:entity|controller|errors)\.[jt]s|http)$/.test(path))
          this.files.set(join(root, path), read(join(root, path)));
    const all = [read(join(PACKAGE, 'examples/petstore.http')), ...this.files.values()];
    const requests = all.flatMap((text) => text.split(/^(?=### )/m));
    this.requests = new Map(requests.map((text) => [/^# @name (\w+)$/m.exec(text)?.[1] ?? '', text.trim()]));
  }

  /** @throws Refusal if a feature would take what another one has */
  requireFree({ files, table, code }: Names): void {
    const taken = {
      [`the table ${table}`]: `Entity\\('${table}'`,
      [`the address /${files}`]: `Controller\\((?:\\{ path: )?'${files}'`,
      [`the code ${code}_not_found`]: `^ +${code}_not_found:`,
    };
    for (const [what, pattern] of Object.entries(taken))
      if (this.has(pattern)) refuse(`"${files}" cannot be added: another feature has ${what}.`);
  }

  private has(pattern: string): boolean {
    return [...this.files.values()].some((text) => new RegExp(pattern, 'm').test(text));
  }

  /** What `ref(given)` refers to. @throws Refusal */
  target(given: string): Target {
    const table = snake(given);
    const [path, text] =
      [...this.files].find(([, one]) => one.includes(`Entity('${table}'`)) ??
      refuse(`ref(${given}): there is no table ${table}.`);
    const [, folder, file] = /([^\\/]+)[\\/]([^\\/]+)\.entity\.[jt]s$/.exec(path)!;
    const product = read(join(PACKAGE, `src/product.${KIND}`));
    const isAdded = !path.startsWith(PACKAGE) || !product.includes(`'./${folder}/`);
    const [entity, code] = [`${folder}/${file}.entity.js`, `${snake(file!)}_not_found`];
    const adding = new RegExp(`^POST {{base}}/(?:[\\w-]+/)*${given}$`, 'm');
    const request = [...this.requests].find(([, one]) => adding.test(one))?.[0];
    const isKnown =
      text.includes('IdColumn(') && (isAdded || product.includes(entity)) && this.has(` ${code}:`);
    if (!isKnown || !request)
      refuse(`ref(${given}): it needs an IdColumn, the code ${code}, and a named POST in a .http file.`);
    const from = isAdded ? `../${entity}` : 'petstore/product';
    return { table, Name: pascal(file!), from, word: spoken(file!), code, request, isAdded };
  }

  /** The requests with these names, each after those that it refers to. */
  requestsOf(names: string[], found = new Map<string, string>()): Map<string, string> {
    for (const name of names) {
      const text = this.requests.get(name)!;
      // That for a key stands in every file.
      if (found.has(name) || name === 'key') continue;
      const others = [...text.matchAll(/\{\{(\w+)\.response\./g)];
      this.requestsOf(
        others.map(([, one]) => one!),
        found,
      ).set(name, text);
    }
    return found;
  }
}
