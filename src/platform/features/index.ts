import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import {
  type DynamicModule,
  type ForwardReference,
  Module,
  type ModuleMetadata,
  type Type,
} from '@nestjs/common';
import { MODULE_METADATA } from '@nestjs/common/constants.js';
import type { ModulesContainer } from '@nestjs/core';
import type { ObjectLiteral } from 'typeorm';
import { type Declarations, PLATFORM_ERRORS, type Tags, withRegistry } from '../api/index.js';
import { DataModule } from '../data/index.js';
import type { Migration } from '../database/index.js';
import { OperatorError } from '../process/index.js';

/** A page of a feature under `/guides`. */
export interface FeatureGuide {
  readonly title: string;
  /** The subject of the page, in a line. */
  readonly summary: string;
  /** The text in Markdown, such as `new URL('./vets.guide.md', import.meta.url)`; the page takes the file's name. */
  readonly file: URL;
}

/** The parts of a feature: the options of Nest's `@Module`, and the platform's own. */
export interface FeatureOptions extends ModuleMetadata, Declarations {
  /** A unique name in lower case, with hyphens between words: `vets`. */
  readonly name: string;
  /** The tables. Providers can inject the `Repository` and the `FastRepository` of each table. */
  readonly entities?: readonly Type<ObjectLiteral>[];
  /** Classes whose names end with a time in milliseconds, by which the migrations of all features are ordered. */
  readonly migrations?: readonly Migration[];
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

/** A module in `imports`, as Nest takes it: a class, a dynamic module, a `forwardRef`. */
type Imported = NonNullable<ModuleMetadata['imports']>[number];

/** The features of a service. */
export class Features {
  private constructor(
    /** The listed Nest modules, with or without `@Feature`, in their order in the OpenAPI document. */
    readonly modules: readonly Type[],
    /** The options of these modules and of all features that they import. */
    private readonly all: readonly FeatureOptions[],
  ) {}

  /**
   * @param without names of features of the product to leave out
   * @param further features to add
   * @param always declarations that every service has, whatever its features
   * @throws OperatorError for a value that is no module, two features that define the same name, a left-out feature
   * that another feature imports, or invalid options
   */
  static of(
    ofProduct: readonly Type[],
    without: readonly string[] = [],
    further: readonly Type[] = [],
    always: readonly FeatureOptions[] = [],
  ): Features {
    const names = ofProduct.map((module) => featureOf(module)?.name ?? module?.name);
    const unknown = without.find((name) => !names.includes(name));
    if (unknown)
      throw new OperatorError(`There is no feature ${unknown} to leave out, only ${names.join(', ')}.`);
    const modules = [...ofProduct.filter((_, i) => !without.includes(names[i]!)), ...further];
    const listed = modules.map(featureOf).filter((feature) => feature !== undefined);
    const found = new Set([
      ...always,
      ...listed,
      ...modules.flatMap((module) => importedBy(module, without)),
    ]);
    const all = [PLATFORM, ...found];
    for (const feature of found) requireSound(feature);
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
    return this.merged('tags');
  }

  get migrations(): readonly Migration[] {
    return this.all.flatMap(({ migrations = [] }) => migrations);
  }

  /** Starts a service, or runs a command, with the errors and permissions of these features alone. */
  run<Result>(start: () => Result): Result {
    return withRegistry({ errors: this.merged('errors'), permissions: this.merged('permissions') }, start);
  }

  /** @throws OperatorError for a feature imported by a promise, whose errors and permissions are unknown */
  requireKnown(modules: ModulesContainer): void {
    for (const { metatype } of modules.values()) {
      const feature = featureOf(metatype);
      if (feature && !this.all.includes(feature))
        throw new OperatorError(
          `The feature ${feature.name} is imported by a promise: add ${metatype.name} to the list of features.`,
        );
    }
  }

  private merged<Part extends 'errors' | 'permissions' | 'tags'>(part: Part) {
    return Object.assign({}, ...this.all.map((feature) => feature[part])) as NonNullable<
      FeatureOptions[Part]
    >;
  }
}

const PLATFORM: FeatureOptions = { name: 'petstore/platform', errors: PLATFORM_ERRORS };

function featureOf(module: unknown): FeatureOptions | undefined {
  if (typeof module !== 'function') return undefined;
  return Reflect.getOwnMetadata(FEATURE, module) as FeatureOptions | undefined;
}

/**
 * The feature of a module, and the features that it imports, directly or through other modules.
 * @param by the list or module that imports the module, for messages
 * @param needing the name of the nearest feature on the import path
 * @throws OperatorError for a value that is no module, and for a feature that is to be left out
 */
function importedBy(
  listed: Imported,
  without: readonly string[],
  by = 'The list of features',
  needing = '',
  seen = new Set<unknown>(),
): FeatureOptions[] {
  const reference = Object(listed) as Partial<ForwardReference<() => Imported>>;
  const imported = reference.forwardRef ? reference.forwardRef() : listed;
  if (seen.has(imported) || imported instanceof Promise) return [];
  seen.add(imported);
  const { module, imports = [] } =
    'module' in Object(imported) ? (imported as DynamicModule) : { module: imported };
  if (typeof module !== 'function')
    throw new OperatorError(`${by} names something that is no module, perhaps due to circular imports.`);
  const feature = featureOf(module);
  if (feature && without.includes(feature.name))
    throw new OperatorError(`The feature ${feature.name} cannot be left out: ${needing} needs it.`);
  // The permissions and errors are needed before Nest reads the modules.
  const ofClass = (Reflect.getMetadata(MODULE_METADATA.IMPORTS, module) ?? []) as Imported[];
  const name = feature?.name ?? needing;
  const further = [...ofClass, ...imports].flatMap((one) =>
    importedBy(one, without, `The module ${module.name}`, name, seen),
  );
  return feature ? [feature, ...further] : further;
}

const NAME = /^[a-z][a-z\d]*(?:-[a-z\d]+)*$/;
const CODE = /^[a-z][a-z\d]*(?:_[a-z\d]+)*$/;
/** The characters of an OAuth scope (RFC 6749, 3.3), except commas, which separate permissions. */
const PERMISSION = /^[!#-+\--[\]-~]+$/;
/** TypeORM orders migrations by this time. */
const WITH_TIME = /\d{13}$/;

/** @throws OperatorError that names the first invalid option of a feature */
function requireSound({
  name,
  permissions = {},
  errors = {},
  migrations = [],
  guides = [],
}: FeatureOptions): void {
  const refuse = (what: string): never => {
    throw new OperatorError(`The feature ${name} ${what}.`);
  };
  if (!NAME.test(name))
    refuse('needs a name of lower-case words with hyphens between them, such as dog-walks');
  for (const permission of Object.keys(permissions))
    if (!PERMISSION.test(permission))
      refuse(`has the permission "${permission}": leave out spaces, commas, quotes and backslashes`);
  for (const [code, { status }] of Object.entries(errors)) {
    if (!CODE.test(code)) refuse(`has the error "${code}": write lower-case words with _ between them`);
    if (!Number.isInteger(status) || status < 400 || status > 599)
      refuse(`has the error ${code} with the status ${status}: it must be from 400 to 599`);
  }
  for (const migration of migrations)
    if (!WITH_TIME.test(migration.name))
      refuse(`has the migration ${migration.name}: end its name with the time in milliseconds (date +%s000)`);
  for (const { file } of guides)
    if (!existsSync(file))
      refuse(`has the guide ${file.pathname}, but there is no such file: let the build copy it`);
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
