import { basename } from 'node:path';
import { Module, type ModuleMetadata, type Type } from '@nestjs/common';
import type { MigrationInterface, ObjectLiteral } from 'typeorm';
import {
  type Errors,
  type Permissions,
  registerErrors,
  registerFeaturePermissions,
  type Tags,
} from '../api/index.js';
import { DataModule } from '../data/index.js';
import { bringMigrations } from '../database/index.js';
import { OperatorError } from '../process/index.js';

/** A page of a feature under `/guides`. */
export interface FeatureGuide {
  readonly title: string;
  /** The subject of the page, in a line. */
  readonly summary: string;
  /** The text in Markdown, such as `new URL('./vets.guide.md', import.meta.url)`; the file's name is the page's. */
  readonly file: URL;
}

/** The parts of a feature: the options of Nest's `@Module`, and the platform's own. */
export interface FeatureOptions extends ModuleMetadata {
  /** A unique name in lower case, with hyphens between words: `vets`. */
  readonly name: string;
  /** The tables. Providers can inject the `Repository` and the `FastRepository` of each. */
  readonly entities?: readonly Type<ObjectLiteral>[];
  /** Classes whose names end with a time in milliseconds, by which the migrations of all features are ordered. */
  readonly migrations?: readonly (new () => MigrationInterface)[];
  readonly permissions?: Permissions;
  readonly errors?: Errors;
  /** The tags of its operations with their descriptions: `{ vets: 'The vets of the store.' }`. */
  readonly tags?: Tags;
  readonly guides?: readonly FeatureGuide[];
}

const FEATURE = Symbol('options of a feature');

/** Makes a class the Nest module of a feature, with the options of `@Module` and the platform's own. */
export function Feature(options: FeatureOptions): ClassDecorator {
  const { entities = [], imports = [], controllers, providers, exports } = options;
  const own = entities.length > 0 ? [DataModule.forFeature(entities)] : [];
  return (target) => {
    Reflect.defineMetadata(FEATURE, options, target);
    Module({ imports: [...own, ...imports], controllers, providers, exports })(target);
  };
}

/** The features of a service. */
export class Features {
  private constructor(
    /** The listed Nest modules, in their order in the OpenAPI document. */
    readonly modules: readonly Type[],
    /** The options of these modules and of the features that they import. */
    private readonly all: readonly FeatureOptions[],
  ) {}

  /**
   * @param without names of features of the product to leave out
   * @param further features to add
   * @throws OperatorError for a module without `@Feature`, two features that define the same name, or a left-out feature
   * that another imports
   */
  static of(
    ofProduct: readonly Type[],
    without: readonly string[] = [],
    further: readonly Type[] = [],
  ): Features {
    const names = ofProduct.map((module) => optionsOf(module).name);
    const unknown = without.find((name) => !names.includes(name));
    if (unknown)
      throw new OperatorError(`There is no feature ${unknown} to leave out, but ${names.join(', ')}.`);
    const modules = [...ofProduct.filter((_, i) => !without.includes(names[i]!)), ...further];
    const all = modules.map(optionsOf);
    // The list grows while it is walked: imported features import others.
    for (const feature of all)
      all.push(...importedBy(feature, without).filter((imported) => !all.includes(imported)));
    refuseDuplicates(all, 'feature', ({ name }) => [name]);
    refuseDuplicates(all, 'entity', ({ entities = [] }) => entities.map(({ name }) => name));
    refuseDuplicates(all, 'error', ({ errors = {} }) => Object.keys(errors));
    refuseDuplicates(all, 'permission', ({ permissions = {} }) => Object.keys(permissions));
    refuseDuplicates(all, 'tag', ({ tags = {} }) => Object.keys(tags));
    refuseDuplicates(all, 'migration', ({ migrations = [] }) => migrations.map(({ name }) => name));
    refuseDuplicates(all, 'guide', ({ guides = [] }) => guides.map(({ file }) => basename(file.pathname)));
    return new Features(modules, all);
  }

  get guides(): readonly FeatureGuide[] {
    return this.all.flatMap(({ guides = [] }) => guides);
  }

  /** The descriptions of the tags of all features. */
  get tags(): Tags {
    return Object.assign({}, ...this.all.map(({ tags }) => tags)) as Tags;
  }

  /** Registers the errors, permissions and migrations of the features in this process. */
  register(): this {
    registerErrors(Object.assign({}, ...this.all.map(({ errors }) => errors)) as Errors);
    registerFeaturePermissions(
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

/** The features whose modules a feature imports. @throws OperatorError for a feature that is to be left out */
function importedBy({ name, imports = [] }: FeatureOptions, without: readonly string[]): FeatureOptions[] {
  const imported = imports.map(featureOf).filter((feature) => feature !== undefined);
  const missing = imported.find((feature) => without.includes(feature.name));
  if (missing) throw new OperatorError(`The feature ${missing.name} cannot be left out: ${name} needs it.`);
  return imported;
}

/** @throws OperatorError if two features define the same name */
function refuseDuplicates(
  features: readonly FeatureOptions[],
  kind: string,
  namesOf: (feature: FeatureOptions) => string[],
): void {
  const owners = new Map<string, string>();
  for (const feature of features) {
    for (const name of namesOf(feature)) {
      const owner = owners.get(name);
      if (owner)
        throw new OperatorError(`The ${kind} ${name} is defined twice: in ${owner} and in ${feature.name}.`);
      owners.set(name, feature.name);
    }
  }
}
