import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiProperty,
  type ApiPropertyOptions,
  ApiSchema,
  type ApiSchemaOptions,
  DECORATORS,
  PickType,
} from '@nestjs/swagger';
import { ValidateBy, ValidateIf } from 'class-validator';

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
  /** Of an enumeration: its name in the document, and its values with their meanings. */
  enumeration?: { name: string; meanings: () => Readonly<Record<string, string>> };
  /** What its schema has only when the document is made. */
  late?: () => object;
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

/** What a decorator says of a property: how it is read, what is accepted, how an answer writes it. */
export class Field {
  readonly isOptional: boolean;
  readonly isNested: boolean;
  readonly accepts: (value: unknown) => boolean;
  readonly read: Read;
  readonly write: (value: unknown) => string;

  constructor(
    readonly options: FieldOptions,
    readonly kind: Kind,
  ) {
    const { optional = false, nullable = false } = options;
    const { accepts, read = (value) => value, write = JSON.stringify, nested = false } = kind;
    this.isOptional = optional;
    this.isNested = nested;
    this.accepts = nullable ? (value) => value === null || accepts(value) : accepts;
    this.read = nullable ? (value, ...place) => (value === null ? null : read(value, ...place)) : read;
    this.write = nullable ? (value) => (value === null ? 'null' : write(value)) : write;
  }

  /** What a valid value is. */
  get must(): string {
    return this.options.nullable ? `${this.kind.must}, or null` : this.kind.must;
  }

  /** Reads a value where it was sent. Only a nested field takes an object or an array. */
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

/** The decorator of a field. It also says what the items of a list, or the values of a map, are. */
export type FieldDecorator = PropertyDecorator & { readonly field: Field };

/** Swagger's metadata of a property, which its mapped types (`PickType` and its like) hand on, has the field under this. */
const FIELD = Symbol('the field of a property');

/** The name of the rule by which class-validator, too, checks a field: a service can hand a DTO to its `validate`. */
export const FIELD_RULE = 'field';

/** One decorator for a field: how it is read, its rule, how an answer writes it, its OpenAPI schema. */
export function field(options: FieldOptions, kind: Kind): FieldDecorator {
  const { description, example, optional = false, nullable } = options;
  const one = new Field(options, kind);
  const validator = {
    validate: (value: unknown) => value !== undefined && one.accepts(value),
    defaultMessage: (about?: { property: string; value: unknown }) =>
      one.reasons(about!.property, about!.value).join('; '),
  };
  const property = { description, example, required: !optional, ...(nullable && { nullable }), [FIELD]: one };
  const decorate = applyDecorators(
    ApiProperty({ ...property, ...kind.schema } as ApiPropertyOptions),
    ValidateBy({ name: FIELD_RULE, validator }),
    ...(optional ? [ValidateIf((_dto, value) => value !== undefined)] : []),
    ({ constructor }: object) => ApiExtraModels(...(kind.models ?? []))(constructor),
  ) as PropertyDecorator;
  return Object.assign(decorate, { field: one });
}

/** A field of a path or a query, where its values are text. */
export function param(options: FieldOptions, { inText: { must, read }, ...kind }: KindWithText) {
  const readText = (value: unknown) => (typeof value === 'string' ? read(value) : UNREADABLE);
  return field(options, { ...kind, must, read: readText });
}

/** The fields of a DTO class by their names, inherited ones first. `PartialType` makes each optional. */
export function fieldsIn({ prototype }: Type): [name: string, field: Field][] {
  const names = (Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES_ARRAY, prototype) ?? []) as string[];
  return names.flatMap((marked): [string, Field][] => {
    const name = marked.slice(1);
    const { [FIELD]: one, required } = Reflect.getMetadata(
      DECORATORS.API_MODEL_PROPERTIES,
      prototype as object,
      name,
    ) as { [FIELD]?: Field; required?: boolean };
    if (!one || required !== false || one.isOptional) return one ? [[name, one]] : [];
    return [[name, new Field({ ...one.options, optional: true }, one.kind)]];
  });
}

type Values = Record<string, unknown>;

/** Makes a DTO of the values that were sent, or says what is wrong with them. */
export type Reader = (sent: object) => object | Faults;

const CHANGE = Symbol('a body that changes something');

/**
 * How a class of fields is read and checked. Only its properties are looked at: all others are dropped unread, however deep
 * or hostile.
 */
export function objectReader(type: Type<object>): Reader {
  const fields = fieldsIn(type);
  const isChange = Reflect.hasMetadata(CHANGE, type);
  return (sent) => {
    const dto = new type() as Values;
    let reasons: string[] | undefined;
    for (const [name, one] of fields) {
      const given = Object.hasOwn(sent, name) ? (sent as Values)[name] : undefined;
      const value = given === undefined ? dto[name] : (dto[name] = one.readSent(given, sent, name));
      if (value === undefined ? one.isOptional : one.accepts(value)) continue;
      (reasons ??= []).push(...one.reasons(name, value));
    }
    if (reasons) return new Faults(reasons);
    if (!isChange || fields.some(([name]) => Object.hasOwn(sent, name))) return dto;
    return new Faults([`At least one of ${fields.map(([name]) => name).join(', ')} is required`]);
  };
}

/** Names the schema of a body that changes something: any of its fields may be left out, but not all. */
export function ChangeSchema(name: string): ClassDecorator {
  return applyDecorators(
    // Further keywords go into the schema, although the type knows only some.
    ApiSchema({ name, minProperties: 1 } as ApiSchemaOptions),
    (type: object) => Reflect.defineMetadata(CHANGE, true, type),
  );
}

/** The fields of a class, each of which may be left out, and be null where it is optional there. */
type Change<T> = { [Name in keyof T]?: undefined extends T[Name] ? T[Name] | null : T[Name] };

/**
 * The DTO class of a change (PATCH) to what another class creates, as Nest's `PartialType` is: what is left out stays as
 * it is; null clears an optional field.
 */
export function ChangeType<T extends object>(type: Type<T>): Type<Change<T>> {
  const Changed = PickType(type, []);
  for (const [name, { options, kind, isOptional }] of fieldsIn(type)) {
    const nullable = isOptional || options.nullable;
    field({ ...options, optional: true, nullable }, kind)(Changed.prototype, name);
  }
  return Changed;
}

/** The body of an answer as it is sent. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** Writes items as JSON. */
export type Serializer<Item> = (item: Item) => JsonText;

/**
 * Writes items as a DTO class defines them: its fields, each in the way of its kind, and nothing else of the item.
 * Fields without a value are left out. Integers keep all their digits.
 */
export function serializer(type: Type): Serializer<object> {
  const write = objectWriter(type);
  return (item) => new JsonText(write(item));
}

/** Writes the fields of objects as JSON. */
export function objectWriter(type: Type): (item: object) => string {
  const fields = fieldsIn(type).map(([name, { write }]) => ({
    name,
    prefix: `${JSON.stringify(name)}:`,
    write,
  }));
  return (item) => {
    let text = '{';
    let separator = '';
    for (const { name, prefix, write } of fields) {
      const value = (item as Values)[name];
      if (value === undefined || value === null) continue;
      text += separator + prefix + write(value);
      separator = ',';
    }
    return `${text}}`;
  };
}
