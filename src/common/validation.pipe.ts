import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { getMetadataStorage, type ValidationError, validateSync } from 'class-validator';
import { ApiError } from './api-error.js';
import { type CompiledDto, compileDto } from './compiled-dto.js';
import { UNREADABLE } from './field.js';

/**
 * Turns a body, query or path into its DTO class and checks the rules of that class. Only the properties that the class
 * names are looked at: all others are dropped unread, however deep or hostile.
 * @throws ApiError `validation_failed`, naming every bad field and why
 */
@Injectable()
export class ValidationPipe implements PipeTransform {
  private readonly fields = new Map<Type, string[]>();
  private readonly compiled = new Map<Type, CompiledDto | undefined>();

  transform(value: unknown, { metatype, type }: ArgumentMetadata): unknown {
    if (type === 'custom' || !metatype || !this.isDto(metatype)) return value;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ApiError('validation_failed', `The ${type} must be a JSON object.`);
    }
    const sent = this.pick(metatype, value);
    return this.compiledOf(metatype)?.(sent) ?? check(metatype, sent);
  }

  private isDto(metatype: Type): boolean {
    return this.fieldsOf(metatype).length > 0;
  }

  private pick(metatype: Type, value: object): Record<string, unknown> {
    const picked: Record<string, unknown> = {};
    for (const name of this.fieldsOf(metatype)) {
      if (Object.hasOwn(value, name)) picked[name] = withoutObjects(value[name as keyof typeof value]);
    }
    return picked;
  }

  private compiledOf(metatype: Type): CompiledDto | undefined {
    if (!this.compiled.has(metatype))
      this.compiled.set(metatype, compileDto(metatype, this.fieldsOf(metatype)));
    return this.compiled.get(metatype);
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

/** @throws ApiError `validation_failed` */
function check(metatype: Type, sent: object): object {
  const dto: object = plainToInstance(metatype, sent, { exposeDefaultValues: true });
  const errors = validateSync(dto, { stopAtFirstError: true });
  if (errors.length > 0) throw new ApiError('validation_failed', `${errors.flatMap(reasons).join('; ')}.`);
  return dto;
}

/**
 * No field is an object or an array, so no rule misses one. class-transformer would descend into it, however deep, and
 * call whatever it has under the name `constructor`.
 */
function withoutObjects(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? UNREADABLE : value;
}

/** The messages for one field, and for the fields inside it. */
function reasons(error: ValidationError): string[] {
  const inner = (error.children ?? []).flatMap(reasons).map((reason) => `${error.property}.${reason}`);
  return [...Object.values(error.constraints ?? {}), ...inner];
}
