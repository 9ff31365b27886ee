import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationError, validateSync } from 'class-validator';
import { ApiError } from './api-error.js';
import { UNREADABLE } from './field.js';

/**
 * Turns a body, query or path into its DTO class and checks the rules that stand on it.
 * Only the properties that the class names are looked at: all others are dropped unread, however deep or hostile.
 * @throws ApiError `validation_failed`, naming every bad field and why
 */
@Injectable()
export class ValidationPipe implements PipeTransform {
  private readonly fields = new Map<Type, string[]>();

  transform(value: unknown, { metatype, type }: ArgumentMetadata): unknown {
    if (type === 'custom' || !metatype || !this.isDto(metatype)) return value;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ApiError('validation_failed', `The ${type} must be a JSON object.`);
    }
    const dto = plainToInstance(metatype, this.pick(metatype, value), { exposeDefaultValues: true });
    const errors = validateSync(dto as object, { stopAtFirstError: true });
    if (errors.length > 0) throw new ApiError('validation_failed', `${errors.flatMap(reasons).join('; ')}.`);
    return dto;
  }

  private isDto(metatype: Type): boolean {
    return this.fieldsOf(metatype).length > 0;
  }

  private pick(metatype: Type, value: object): Record<string, unknown> {
    const own = this.fieldsOf(metatype).filter((name) => Object.hasOwn(value, name));
    return Object.fromEntries(own.map((name) => [name, withoutObjects(value[name as keyof typeof value])]));
  }

  private fieldsOf(metatype: Type): string[] {
    let names = this.fields.get(metatype);
    if (!names) {
      const rules = getMetadataStorage().getTargetValidationMetadatas(metatype, '', false, false);
      names = [...new Set(rules.map((rule) => rule.propertyName))];
      this.fields.set(metatype, names);
    }
    return names;
  }
}

/**
 * No field is an object or an array, so no rule misses one. class-transformer would go into it, however deep, and call
 * what it has under the name `constructor`.
 */
function withoutObjects(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? UNREADABLE : value;
}

/** The messages of one field, and of the fields inside it. */
function reasons(error: ValidationError): string[] {
  const inner = (error.children ?? []).flatMap(reasons).map((reason) => `${error.property}.${reason}`);
  return [...Object.values(error.constraints ?? {}), ...inner];
}
