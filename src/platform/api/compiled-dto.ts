import type { Type } from '@nestjs/common';
import { defaultMetadataStorage } from 'class-transformer/cjs/storage.js';
import { TransformationType, type TransformFnParams } from 'class-transformer';
import { getMetadataStorage, ValidationTypes } from 'class-validator';
import type { ValidationMetadata } from 'class-validator/types/metadata/ValidationMetadata.js';

type Dto = Record<string, unknown>;

/** One property of a DTO class, with what its decorators define. */
interface Field {
  name: string;
  /** `@Transform`: applied one after the other to a value that was sent. */
  reads: ((params: TransformFnParams) => unknown)[];
  /** `@ValidateIf`: whether there is anything to check. */
  conditions: ((dto: Dto, value: unknown) => boolean)[];
  rules: ((value: unknown, dto: Dto) => boolean)[];
}

/** Builds a DTO from the values that were sent; undefined if a rule refuses one. */
export type CompiledDto = (sent: Dto) => object | undefined;

/**
 * What class-transformer and class-validator do with a class, looked up once instead of on every request: the query of
 * a list takes 0.2 µs instead of 4. The rules are those of the class. It only decides whether they accept; a value that
 * is refused goes through class-validator again, for the message.
 * @returns undefined for a class that uses more than `@Transform`, `@ValidateIf` and rules for single values
 */
export function compileDto(type: Type<object>, names: readonly string[]): CompiledDto | undefined {
  const storage = defaultMetadataStorage;
  if (storage.getExposedMetadatas(type).length + storage.getExcludedMetadatas(type).length > 0)
    return undefined;
  const fields = names.map((name) => compileField(type, name));
  if (!fields.every((field) => field !== undefined)) return undefined;
  return (sent) => {
    const dto = new type() as Dto;
    for (const field of fields) read(field, sent, dto);
    return fields.every((field) => isValid(field, dto)) ? dto : undefined;
  };
}

function compileField(type: Type<object>, name: string): Field | undefined {
  if (defaultMetadataStorage.findTypeMetadata(type, name)) return undefined;
  const transforms = defaultMetadataStorage.findTransformMetadatas(
    type,
    name,
    TransformationType.PLAIN_TO_CLASS,
  );
  const field: Field = {
    name,
    reads: transforms.map(({ transformFn }) => transformFn),
    conditions: [],
    rules: [],
  };
  const rules = getMetadataStorage()
    .getTargetValidationMetadatas(type, '', false, false)
    .filter(({ propertyName }) => propertyName === name);
  return rules.every((rule) => addRule(field, type, rule)) ? field : undefined;
}

/** @returns whether the rule is of a kind that is compiled */
function addRule(field: Field, type: Type<object>, rule: ValidationMetadata): boolean {
  if (rule.each || rule.validateIf || rule.groups.length > 0) return false;
  if (rule.type === ValidationTypes.CONDITIONAL_VALIDATION) {
    field.conditions.push(rule.constraints[0]);
    return true;
  }
  if (rule.type !== ValidationTypes.CUSTOM_VALIDATION) return false;
  const about = { targetName: type.name, property: field.name, constraints: rule.constraints };
  const validators = getMetadataStorage().getTargetValidatorConstraints(rule.constraintCls);
  for (const { instance } of validators) {
    field.rules.push((value, object) => instance.validate(value, { ...about, object, value }) === true);
  }
  return validators.every(({ async }) => !async);
}

function read({ name, reads }: Field, sent: Dto, dto: Dto): void {
  let value = sent[name];
  if (value === undefined) return;
  for (const transform of reads) {
    value = transform({ value, key: name, obj: sent, type: TransformationType.PLAIN_TO_CLASS, options: {} });
  }
  dto[name] = value;
}

function isValid({ name, conditions, rules }: Field, dto: Dto): boolean {
  const value = dto[name];
  return !conditions.every((applies) => applies(dto, value)) || rules.every((accepts) => accepts(value, dto));
}
