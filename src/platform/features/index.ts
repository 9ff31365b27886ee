import { readFileSync, realpathSync } from 'node:fs';
import { findPackageJSON } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Module, type ModuleMetadata, type Type } from '@nestjs/common';
import type { MigrationInterface, ObjectLiteral } from 'typeorm';
import {
  declareFeatureErrors,
  declareFeaturePermissions,
  type Errors,
  type Permissions,
} from '../api/index.js';
import { DataModule } from '../data/index.js';
import { bringMigrations } from '../database/index.js';
import { OperatorError } from '../process/index.js';

/** A page under `/guides` that a feature brings. */
export interface FeatureGuide {
  readonly title: string;
  /** What it is about, in a line. */
  readonly summary: string;
  /** Its text in Markdown, such as `new URL('./vets.guide.md', import.meta.url)`; the name of the file is that of the page. */
  readonly file: URL;
}

/** All that a feature is, beside what Nest's `@Module` takes. */
export interface FeatureOptions extends ModuleMetadata {
  /** A word or several with hyphens, unlike that of any other feature: `vets`. */
  readonly name: string;
  /** Its tables. Its providers can inject the `Repository` and the `FastRepository` of each. */
  readonly entities?: readonly Type<ObjectLiteral>[];
  /** Classes whose names end with the time in milliseconds, which is their order among those of all features. */
  readonly migrations?: readonly (new () => MigrationInterface)[];
  readonly permissions?: Permissions;
  readonly errors?: Errors;
  readonly guides?: readonly FeatureGuide[];
}

const FEATURE = Symbol('what a feature brings');

/**
 * Makes a class the Nest module of a feature. It has `imports`, `controllers`, `providers` and `exports` as `@Module` does;
 * whatever else the service has to know of the feature stands here as well.
 */
export function Feature(options: FeatureOptions): ClassDecorator {
  const { entities = [], imports = [], controllers, providers, exports } = options;
  const own = entities.length > 0 ? [DataModule.forFeature(entities)] : [];
  return (target) => {
    Reflect.defineMetadata(FEATURE, options, target);
    Module({ imports: [...own, ...imports], controllers, providers, exports })(target);
  };
}

/** Which features a service has beside those that the product lists. */
interface Choice {
  readonly further: readonly Type[];
  /** Names of those of the product that it does without. */
  readonly without: readonly string[];
}

let choice: Choice = { further: [], without: [] };
let installed: readonly FeatureOptions[] = [];

/** Chooses the features of this process, before those of the product are loaded. */
export function chooseFeatures(chosen: Partial<Choice>): void {
  choice = { ...choice, ...chosen };
}

/**
 * Makes known what features bring: their errors, permissions, migrations and guides, and those of the features that they
 * import. A feature that is not among them is not known at all, whether its files are loaded or not.
 * @param ofProduct modules with `@Feature`, in the order that they have in the OpenAPI document
 * @returns the modules of the features that this process has
 * @throws OperatorError if one is no feature, two bring the same, or one is left out that another needs
 */
export function installFeatures(ofProduct: readonly Type[]): readonly Type[] {
  const { further, without } = choice;
  const names = ofProduct.map((module) => optionsOf(module).name);
  const unknown = without.find((name) => !names.includes(name));
  if (unknown)
    throw new OperatorError(`There is no feature ${unknown} to leave out, but ${names.join(', ')}.`);
  const modules = [...ofProduct.filter((_, i) => !without.includes(names[i]!)), ...further];
  const features = modules.map(optionsOf);
  // It grows while it is walked: what a feature needs may need others.
  for (const feature of features)
    features.push(...neededBy(feature, without).filter((one) => !features.includes(one)));
  refuseTwice(features, 'feature', ({ name }) => [name]);
  refuseTwice(features, 'error', ({ errors = {} }) => Object.keys(errors));
  refuseTwice(features, 'permission', ({ permissions = {} }) => Object.keys(permissions));
  refuseTwice(features, 'entity', ({ entities = [] }) => entities.map(({ name }) => name));
  refuseTwice(features, 'migration', ({ migrations = [] }) => migrations.map(({ name }) => name));
  refuseTwice(features, 'guide', ({ guides = [] }) =>
    guides.map(({ file }) => file.pathname.split('/').at(-1)!),
  );
  declareFeatureErrors(Object.assign({}, ...features.map(({ errors }) => errors)) as Errors);
  declareFeaturePermissions(
    Object.assign({}, ...features.map(({ permissions }) => permissions)) as Permissions,
  );
  bringMigrations(features.flatMap(({ migrations = [] }) => migrations));
  installed = features;
  return modules;
}

/** What the features of this process bring. */
export function installedFeatures(): readonly FeatureOptions[] {
  return installed;
}

/** @throws OperatorError for a class without `@Feature` */
function optionsOf(module: Type): FeatureOptions {
  const options = featureOf(module);
  if (options) return options;
  throw new OperatorError(
    `${module?.name ?? String(module)} is in the list of features, but has no @Feature.`,
  );
}

function featureOf(module: unknown): FeatureOptions | undefined {
  if (typeof module !== 'function') return undefined;
  return Reflect.getOwnMetadata(FEATURE, module) as FeatureOptions | undefined;
}

/**
 * The features whose modules a feature imports.
 * @throws OperatorError for one that is to be left out
 */
function neededBy({ name, imports = [] }: FeatureOptions, without: readonly string[]): FeatureOptions[] {
  const needed = imports.map(featureOf).filter((one) => one !== undefined);
  const missing = needed.find((one) => without.includes(one.name));
  if (missing) throw new OperatorError(`The feature ${missing.name} cannot be left out: ${name} needs it.`);
  return needed;
}

/** @throws OperatorError if two features bring something of the same name */
function refuseTwice(
  features: readonly FeatureOptions[],
  what: string,
  namesOf: (feature: FeatureOptions) => string[],
): void {
  const owners = new Map<string, string>();
  for (const feature of features) {
    for (const name of namesOf(feature)) {
      const other = owners.get(name);
      if (other)
        throw new OperatorError(`The ${what} ${name} is there twice: in ${other} and in ${feature.name}.`);
      owners.set(name, feature.name);
    }
  }
}

interface Manifest {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const read = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Manifest;

/**
 * Features and the service share classes by which Nest and TypeORM know what is what, so there has to be one copy of each
 * of these packages. Where there are two, injection fails with messages that name neither.
 * @param folder of the program that is run: its packages, and those that bring features, are looked at
 * @throws OperatorError that names both copies
 */
export function requireOneOfEach(folder = process.cwd()): void {
  const own = read(findPackageJSON(import.meta.url)!);
  const shared = [own.name, ...Object.keys(own.peerDependencies ?? {})];
  const base = pathToFileURL(join(folder, 'package.json')).href;
  const program = findPackageJSON('.', base);
  if (!program) return;
  for (const from of [base, ...packagesWithFeatures(read(program), own.name, base)]) {
    for (const name of shared) {
      const ours =
        name === own.name ? realpathSync(findPackageJSON(import.meta.url)!) : locate(name, import.meta.url);
      const theirs = locate(name, from);
      if (!ours || !theirs || ours === theirs) continue;
      throw new OperatorError(
        `There are two copies of ${name}: ${read(ours).version} in ${ours} and ${read(theirs).version} in ${theirs}. ` +
          'Have one version for the whole program, such as with `npm dedupe`.',
      );
    }
  }
}

/** Where the package.json of each dependency is that needs this service. */
function packagesWithFeatures({ dependencies = {} }: Manifest, service: string, base: string): string[] {
  return Object.keys(dependencies).flatMap((name) => {
    const path = name === service ? undefined : locate(name, base);
    if (!path) return [];
    const { dependencies: own, peerDependencies } = read(path);
    return service in { ...own, ...peerDependencies } ? [pathToFileURL(path).href] : [];
  });
}

/** The package.json of a package as a file finds it; undefined where there is none. */
function locate(name: string, from: string): string | undefined {
  try {
    const path = findPackageJSON(name, from);
    return path && realpathSync(path);
  } catch {
    return undefined;
  }
}
