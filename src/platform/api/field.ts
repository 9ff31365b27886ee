import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { getMetadataStorage, ValidateBy, ValidateIf } from 'class-validator';

/**
 * Options of every DTO field. A field is required unless `optional`; an optional one may be left out, but not null. A
 * `nullable` one may be null, which in a change means to clear it; an answer leaves it out then.
 */
export interface FieldOptions {
  description: string;
  example?: unknown;
  optional?: boolean;
  nullable?: boolean;
}

interface Rule {
  schema: ApiPropertyOptions;
  /** What a valid value is, completing the sentence "name must be …". */
  must: string;
  accepts: (value: unknown) => boolean;
  /** Runs before `accepts`, on a value as sent. */
  read?: (value: unknown) => unknown;
  /** Writes a value as JSON in an answer. */
  write?: (value: unknown) => string;
  /** Whether `read` takes objects and arrays. Those sent for any other field are refused before anything looks at them. */
  nested?: boolean;
}

/** What the decorator of a field has declared. class-validator keeps it beside the rule that it makes of it. */
class Declared {
  readonly isOptional: boolean;
  readonly isNested: boolean;
  readonly accepts: (value: unknown) => boolean;
  readonly read: (value: unknown) => unknown;
  readonly write: (value: unknown) => string;
  private readonly must: string;

  constructor({ optional = false, nullable = false }: FieldOptions, rule: Rule) {
    const { must, accepts, read = (value) => value, write = JSON.stringify, nested = false } = rule;
    this.isOptional = optional;
    this.isNested = nested;
    this.must = nullable ? `${must}, or null` : must;
    this.accepts = nullable ? (value) => value === null || accepts(value) : accepts;
    this.read = nullable ? (value) => (value === null ? null : read(value)) : read;
    this.write = write;
  }

  /** Why a value is refused. */
  reason(property: string, value: unknown): string {
    return value === undefined ? `${property} is required` : `${property} must be ${this.must}`;
  }
}

/** A field of a DTO class. */
export interface Field {
  readonly name: string;
  readonly declared: Declared;
}

const isGiven = (_dto: unknown, value: unknown): boolean => value !== undefined;

/** One decorator for a field: how it is read, its rule for class-validator, how an answer writes it, its OpenAPI schema. */
export function field(options: FieldOptions, rule: Rule): PropertyDecorator {
  const { description, example, optional = false, nullable } = options;
  const declared = new Declared(options, rule);
  const validator = {
    validate: declared.accepts,
    defaultMessage: (about?: { property: string; value: unknown }) =>
      declared.reason(about!.property, about!.value),
  };
  const property = { description, example, required: !optional, ...(nullable && { nullable }) };
  return applyDecorators(
    ApiProperty({ ...property, ...rule.schema } as ApiPropertyOptions),
    ValidateBy({ name: rule.must, constraints: [declared], validator }),
    ...(optional ? [ValidateIf(isGiven)] : []),
  );
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

/** What `read` returns for a value that it cannot read, so that no rule accepts it. */
export const UNREADABLE = Symbol('unreadable');
