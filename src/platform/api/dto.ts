import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiProperty,
  type ApiPropertyOptions,
  ApiSchema,
  type ApiSchemaOptions,
  DECORATORS,
  PickType,
} from '@nestjs/swagger';
import { ValidateBy, ValidateIf } from 'class-validator';

/**
 * Options of every DTO field. A field is required unless `optional`. An optional field may be left out, but not be null; if
 * left out, the field has the initial value of its property, which the document names as the default. A `nullable` field
 * may be null: in a change, null clears the field; an answer leaves a null field out.
 */
export interface FieldOptions {
  description: string;
  example?: unknown;
  optional?: boolean;
  nullable?: boolean;
}

/** Reads a value as sent. `numberText` uses `holder` and `name` to find the digits that parsing has lost. */
type Read = (value: unknown, holder?: object, name?: string | number) => unknown;

/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** An enumeration: its name in the document, and its values with their meanings. */
export interface Enumeration {
  readonly name: string;
  readonly description?: string;
  readonly meanings: () => Readonly<Record<string, string>>;
}

/** The kind of a field's values. */
export interface Kind {
  /** The JSON Schema of a value; a function is called when the document is built. */
  schema: JsonSchema | (() => JsonSchema);
  /** Completes the sentence "name must be …". */
  must: string;
  accepts: (value: unknown) => boolean;
  /** Runs before `accepts`, on a value as sent. */
  read?: Read;
  /** Writes a value as JSON in an answer. */
  write?: (value: unknown) => string;
  /** Whether `read` accepts objects and arrays; a field that is not nested refuses them unread. */
  nested?: boolean;
  /** The class that `schema` refers to. */
  model?: Type<object>;
  /** The enumeration that `schema` refers to. */
  enumeration?: Enumeration;
}

/** A kind whose values are not strings in JSON. */
export interface KindWithText extends Kind {
  /** Reads a value in a path or a query. A `must` here replaces the kind's own, which may fit only JSON. */
  inText: { must?: string; read: (text: string) => unknown };
}

/** Returned by `read` for an unreadable value; no rule accepts it. */
export const UNREADABLE = Symbol('unreadable');

/** Problems inside a nested value, each with its path in the value: `.city is required`, `[2] must be …`. */
export class Faults {
  constructor(readonly reasons: readonly string[]) {}

  /** The problems with their paths prefixed. */
  under(path: string): string[] {
    return this.reasons.map((reason) => path + reason);
  }
}

/** A property of a DTO: how it is read, validated and written. */
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

  /** The current JSON Schema of a value. */
  get schema(): JsonSchema {
    const { schema } = this.kind;
    const own = typeof schema === 'function' ? schema() : schema;
    if (!this.options.nullable) return own;
    return own.type ? { ...own, type: [own.type, 'null'].flat() } : { anyOf: [own, { type: 'null' }] };
  }

  get must(): string {
    return this.options.nullable ? `${this.kind.must}, or null` : this.kind.must;
  }

  /** Reads a value as sent. Only a nested field takes an object or an array. */
  readSent(value: unknown, holder: object, name: string | number): unknown {
    if (typeof value === 'object' && value !== null && !this.isNested) return UNREADABLE;
    return this.read(value, holder, name);
  }

  /** Why a value is refused: one reason, or one reason for each problem inside a nested value. */
  reasons(path: string, value: unknown): string[] {
    if (value instanceof Faults) return value.under(path);
    return [value === undefined ? `${path} is required` : `${path} must be ${this.must}`];
  }
}

/** The decorator of a field; also describes the items of a list. */
export type FieldDecorator = PropertyDecorator & { readonly field: Field };

/** Key of the field in Swagger's metadata of a property, which mapped types such as `PickType` copy. */
const FIELD = Symbol('the field of a property');

/** The name of the class-validator rule that each field adds, so that code can pass a DTO to `validate`. */
export const FIELD_RULE = 'field';

/** Makes the decorator of a field: how it is read, validated, written and documented. */
export function field(options: FieldOptions, kind: Kind): FieldDecorator {
  const { description, example, optional = false } = options;
  const described = new Field(options, kind);
  const validator = {
    validate: (value: unknown) => value !== undefined && described.accepts(value),
    defaultMessage: (about?: { property: string; value: unknown }) =>
      described.reasons(about!.property, about!.value).join('; '),
  };
  // Swagger copies `oneOf`, whose `toJSON` runs when the document is written. The empty `type` hides the property's type.
  const schema = { type: '', oneOf: [{ toJSON: () => described.schema }] };
  const property = { description, example, required: !optional, ...schema, [FIELD]: described };
  const decorate = applyDecorators(
    ApiProperty(property as ApiPropertyOptions),
    ValidateBy({ name: FIELD_RULE, validator }),
    ...(optional ? [ValidateIf((_dto, value) => value !== undefined)] : []),
  ) as PropertyDecorator;
  return Object.assign(decorate, { field: described });
}

/** A field of a path or a query, whose values are text. */
export function param(options: FieldOptions, { inText, ...kind }: KindWithText) {
  const read = (value: unknown) => (typeof value === 'string' ? inText.read(value) : UNREADABLE);
  return field(options, { ...kind, must: inText.must ?? kind.must, read });
}

/** The metadata of Swagger's decorators on a property. */
interface Property {
  readonly name: string;
  readonly required?: boolean;
  readonly type?: unknown;
  readonly [FIELD]?: Field;
}

/** The field in Swagger's metadata of a property or a parameter. */
export const fieldOf = (said: unknown): Field | undefined => (Object(said) as Property)[FIELD];

function propertiesIn({ prototype }: Type<object>): Property[] {
  const names = (Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES_ARRAY, prototype) ?? []) as string[];
  return names.map((prefixed) => {
    const name = prefixed.slice(1);
    return { ...Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES, prototype, name), name } as Property;
  });
}

/** The fields of a DTO class by name, inherited fields first. All fields of a `PartialType` are optional. */
export function fieldsIn(type: Type<object>): [name: string, field: Field][] {
  return propertiesIn(type).flatMap(({ name, required, [FIELD]: marked }): [string, Field][] => {
    if (!marked || required !== false || marked.isOptional) return marked ? [[name, marked]] : [];
    return [[name, new Field({ ...marked.options, optional: true }, marked.kind)]];
  });
}

/** The classes that a class refers to in its fields, in Swagger's decorators of its properties, or in `@ApiExtraModels`. */
export function classesIn(type: Type<object>): Type<object>[] {
  const further = (Reflect.getMetadata(DECORATORS.API_EXTRA_MODELS, type) ?? []) as unknown[];
  const inside = propertiesIn(type).flatMap(({ type: declared, [FIELD]: { kind } = {} }) =>
    kind ? (kind.model ?? []) : classIn(declared),
  );
  return [...inside, ...further.flatMap(classIn)];
}

/** The class in the option `type` of Swagger's decorators: `Class`, `[Class]`, or a function `type` that returns either. */
export function classIn(type: unknown): Type<object>[] {
  const isLazy = typeof type === 'function' && type.name === 'type';
  const [found] = [isLazy ? (type as () => unknown)() : type].flat();
  return typeof found === 'function' ? [found as Type<object>] : [];
}

type Values = Record<string, unknown>;

/** Makes a DTO of sent values, or says what is wrong with them. */
export type Reader = (sent: object) => object | Faults;

const CHANGE = Symbol('body of a change');

/** Reads and validates the fields of a class. Other properties are ignored unread, however deep or hostile. */
export function objectReader(type: Type<object>): Reader {
  const fields = fieldsIn(type);
  const isChange = Reflect.hasMetadata(CHANGE, type);
  return (sent) => {
    const dto = new type() as Values;
    let reasons: string[] | undefined;
    for (const [name, member] of fields) {
      const given = Object.hasOwn(sent, name) ? (sent as Values)[name] : undefined;
      const value = given === undefined ? dto[name] : (dto[name] = member.readSent(given, sent, name));
      if (value === undefined ? member.isOptional : member.accepts(value)) continue;
      (reasons ??= []).push(...member.reasons(name, value));
    }
    if (reasons) return new Faults(reasons);
    if (!isChange || fields.some(([name]) => Object.hasOwn(sent, name))) return dto;
    return new Faults([`At least one of ${fields.map(([name]) => name).join(', ')} is required`]);
  };
}

/** Names the schema of a change, whose body may leave out any field, but not all fields. */
export function ChangeSchema(name: string): ClassDecorator {
  return applyDecorators(
    // Swagger copies `minProperties`, although its TypeScript type lacks the keyword.
    ApiSchema({ name, minProperties: 1 } as ApiSchemaOptions),
    (type: object) => Reflect.defineMetadata(CHANGE, true, type),
  );
}

/** The fields of a class, all optional; a field that was optional may be null. */
type Change<T> = { [Name in keyof T]?: undefined extends T[Name] ? T[Name] | null : T[Name] };

/**
 * Like Nest's `PartialType`, makes the DTO class of a change (PATCH) from the class for creation. A field that is left out
 * keeps its value; null clears an optional field.
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

export type Serializer<Item> = (item: Item) => JsonText;

/** Writes the fields of a DTO class as JSON; leaves out fields without a value. Integers keep all digits. */
export function serializer(type: Type): Serializer<object> {
  const write = objectWriter(type);
  return (item) => new JsonText(write(item));
}

/** Like `serializer`, but returns a string, for a part of an answer. */
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
