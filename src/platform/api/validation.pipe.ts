import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { ApiError } from './api-error.js';
import { requireChange } from './change-schema.js';
import { type DtoReader, dtoReader } from './dto-reader.js';

/**
 * Turns a body, query or path into its DTO class and checks the rules of that class; what is no DTO stays as it is.
 * @throws ApiError `validation_failed`, naming every bad field and why
 */
@Injectable()
export class ValidationPipe implements PipeTransform {
  private readonly readers = new Map<Type, DtoReader | undefined>();

  transform(value: unknown, { metatype, type }: ArgumentMetadata): unknown {
    if (type === 'custom' || !metatype) return value;
    const read = this.readerOf(metatype);
    if (!read) return value;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new ApiError('validation_failed', `The ${type} must be a JSON object.`);
    }
    return read(value);
  }

  private readerOf(metatype: Type<object>): DtoReader | undefined {
    if (!this.readers.has(metatype)) this.readers.set(metatype, requireChange(metatype, dtoReader(metatype)));
    return this.readers.get(metatype);
  }
}
