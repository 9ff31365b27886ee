import { applyDecorators, type Type } from '@nestjs/common';
import { ApiExtraModels, ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { getMetadataStorage, ValidateBy, ValidateIf } from 'class-validator';

/**
 * Options of every DTO field. A field is required unless `optional`; an optional one may be left out, but not null: it is
 * then what the property is initialised to, which the document names as its default. A
 * `nullable` one may be null, which in a change means to clear it; an answer leaves it out then.
 */
export interface FieldOptions {
  /** Not needed: the initial value of the property is what counts, and what the document names. */
  default?: unknown;
  description: string;
  example?: unknown;
  optional?: boolean;
  nullable?: boolean;
}

/** Reads a value as sent. Who sent more digits than a number holds has them under its name in `holder`. */
type Read = (value: unknown, holder?: object, name?: string | number) => unknown;

/** What a field holds. */
export interface Kind {
  schema: ApiPropertyOptions;
  /** What a valid value is, completing the sentence "name must be …". */
  must: string;
  accepts: (value: unknown) => boolean;
  /** Runs before `accepts`, on a value as sent. */
  read?: Read;
  /** Writes a value as JSON in an answer. */
  write?: (value: unknown) => string;
  /** Whether `read` takes objects and arrays. Those sent for any other field are refused before anything looks at them. */
  nested?: boolean;
  /** Classes whose schemas this one may refer to. */
  models?: Type[];
}

/** A kind whose values JSON has as something else than text. */
export interface KindWithText extends Kind {
  /** How the text of a path or a query says a value, and what it must be then. */
  inText: { must: string; read: (text: string) => unknown };
}

/** What `read` returns for a value that it cannot read, so that no rule accepts it. */
export const UNREADABLE = Symbol('unreadable');

/** What is wrong inside a nested value, each with its path from there: `.city is required`, `[2] must be …`. */
export class Faults {
  constructor(readonly reasons: readonly string[]) {}

  /** The same with their paths from further out. */
  from(path: string): string[] {
    return this.reasons.map((reason) => path + reason);
  }
}

/** What the decorator of a field has declared. class-validator keeps it beside the rule that it makes of it. */
export class Declared {
  readonly isOptional: boolean;
  readonly isNested: boolean;
  readonly accepts: (value: unknown) => boolean;
  readonly read: Read;
  readonly write: (value: unknown) => string;
  readonly must: string;

  constructor(
    readonly options: FieldOptions,
    readonly kind: Kind,
  ) {
    const { optional = false, nullable = false } = options;
    const { must, accepts, read = (value) => value, write = JSON.stringify, nested = false } = kind;
    this.isOptional = optional;
    this.isNested = nested;
    this.must = nullable ? `${must}, or null` : must;
    this.accepts = nullable ? (value) => value === null || accepts(value) : accepts;
    this.read = nullable ? (value, ...place) => (value === null ? null : read(value, ...place)) : read;
    this.write = nullable ? (value) => (value === null ? 'null' : write(value)) : write;
  }

  /**
   * Reads a value where it was sent. Only a nested field takes an object or an array; class-transformer would descend
   * into it, however deep, and call whatever it has under the name `constructor`.
   */
  readSent(value: unknown, holder: object, name: string | number): unknown {
    if (typeof value === 'object' && value !== null && !this.isNested) return UNREADABLE;
    return this.read(value, holder, name);
  }

  /** Why a value is refused: once, or for each thing that is wrong inside it. */
  reasons(path: string, value: unknown): string[] {
    if (value instanceof Faults) return value.from(path);
    return [value === undefined ? `${path} is required` : `${path} must be ${this.must}`];
  }
}

/** A field of a DTO class. */
export interface Field {
  readonly name: string;
  readonly declared: Declared;
}

/** The decorator of a field. It also says what the items of a list, or the values of a map, are. */
export type FieldDecorator = PropertyDecorator & { readonly declared: Declared };

const isGiven = (_dto: unknown, value: unknown): boolean => value !== undefined;

/** One decorator for a field: how it is read, its rule for class-validator, how an answer writes it, its OpenAPI schema. */
export function field(options: FieldOptions, kind: Kind): FieldDecorator {
  const { description, example, optional = false, nullable } = options;
  const declared = new Declared(options, kind);
  const validator = {
    validate: declared.accepts,
    defaultMessage: (about?: { property: string; value: unknown }) =>
      declared.reasons(about!.property, about!.value).join('; '),
  };
  const property = { description, example, required: !optional, ...(nullable && { nullable }) };
  const decorate = applyDecorators(
    ApiProperty({ ...property, ...kind.schema } as ApiPropertyOptions),
    ValidateBy({ name: kind.must, constraints: [declared], validator }),
    ...(optional ? [ValidateIf(isGiven)] : []),
    ({ constructor }: object) => ApiExtraModels(...(kind.models ?? []))(constructor),
  ) as PropertyDecorator;
  return Object.assign(decorate, { declared });
}

/** A field of a path or a query, where its values are text. */
export function param(options: FieldOptions, { inText: { must, read }, ...kind }: KindWithText) {
  const readText = (value: unknown) => (typeof value === 'string' ? read(value) : UNREADABLE);
  return field(options, { ...kind, must, read: readText });
}

/** class-validator's rules of a class, its own first, each with the first thing that its decorator was told. */
export function rulesOf(type: Type) {
  const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
  return rules.map(({ target, propertyName: name, constraints }) => {
    // Most rules have no constraints, whatever their type says.
    const [what] = (constraints as unknown[] | undefined) ?? [];
    return { name, isInherited: target !== type, what };
  });
}

/** The fields of a DTO class in order, inherited ones first; `PickType` and its like hand them on. */
export function fieldsIn(type: Type): Field[] {
  const rules = rulesOf(type);
  const inOrder = [true, false].flatMap((first) => rules.filter(({ isInherited }) => isInherited === first));
  return inOrder.flatMap(({ name, what }) => (what instanceof Declared ? [{ name, declared: what }] : []));
}

/** Whether class-validator knows nothing of a class beyond its fields. */
export function hasOnlyFields(type: Type): boolean {
  const optional = new Set(fieldsIn(type).map(({ name, declared }) => declared.isOptional && name));
  return rulesOf(type).every(
    ({ name, what }) => what instanceof Declared || (what === isGiven && optional.has(name)),
  );
}
