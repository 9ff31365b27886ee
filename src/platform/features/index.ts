import { basename } from 'node:path';
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

/** Which features a service has beside those of the product. */
interface Choice {
  readonly further?: readonly Type[];
  /** Names of those of the product that it does without. */
  readonly without?: readonly string[];
}

/** The features of a service, which its start is given. */
export class Features {
  private constructor(
    /** The Nest modules of those that are in the list, in the order that they have in the OpenAPI document. */
    readonly modules: readonly Type[],
    /** What they bring, and those that they import. */
    private readonly all: readonly FeatureOptions[],
  ) {}

  /** @throws OperatorError if one is no feature, two bring the same, or one is left out that another needs */
  static of(ofProduct: readonly Type[], { further = [], without = [] }: Choice = {}): Features {
    const names = ofProduct.map((module) => optionsOf(module).name);
    const unknown = without.find((name) => !names.includes(name));
    if (unknown)
      throw new OperatorError(`There is no feature ${unknown} to leave out, but ${names.join(', ')}.`);
    const modules = [...ofProduct.filter((_, i) => !without.includes(names[i]!)), ...further];
    const all = modules.map(optionsOf);
    // It grows while it is walked: what a feature needs may need others.
    for (const feature of all) all.push(...neededBy(feature, without).filter((one) => !all.includes(one)));
    refuseTwice(all, 'feature', ({ name }) => [name]);
    refuseTwice(all, 'entity', ({ entities = [] }) => entities.map(({ name }) => name));
    refuseTwice(all, 'error', ({ errors = {} }) => Object.keys(errors));
    refuseTwice(all, 'permission', ({ permissions = {} }) => Object.keys(permissions));
    refuseTwice(all, 'migration', ({ migrations = [] }) => migrations.map(({ name }) => name));
    refuseTwice(all, 'guide', ({ guides = [] }) => guides.map(({ file }) => basename(file.pathname)));
    return new Features(modules, all);
  }

  get guides(): readonly FeatureGuide[] {
    return this.all.flatMap(({ guides = [] }) => guides);
  }

  /** Has this process know the codes of their errors, the names of their permissions, and their migrations. */
  declare(): this {
    declareFeatureErrors(Object.assign({}, ...this.all.map(({ errors }) => errors)) as Errors);
    declareFeaturePermissions(
      Object.assign({}, ...this.all.map(({ permissions }) => permissions)) as Permissions,
    );
    bringMigrations(this.all.flatMap(({ migrations = [] }) => migrations));
    return this;
  }
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
