import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type ArgumentMetadata,
  Injectable,
  type PipeTransform,
  type Type,
  ValidationPipe,
} from '@nestjs/common';
import { inheritTransformationMetadata } from '@nestjs/mapped-types';
import { type ValidationError, validateSync } from 'class-validator';
import { currentWork } from '../process/index.js';
import { ApiError } from './api-error.js';
import { FIELD_RULE, Faults, fieldsIn, objectReader, type Reader } from './dto.js';
import { NeedsBy } from './permissions.js';
import type { AuthenticatedRequest } from './request.js';

/** The order of the parts in an error message; Nest's order would begin with the method's last parameter. */
const PARTS = ['param', 'query', 'body', 'header'];

/** The refused parts of each request, with the reasons. */
const refusals = new WeakMap<object, { part: string; reasons: readonly string[] }[]>();

/**
 * Refuses a request for the problems of a part, together with the problems of its other refused parts.
 * @throws ApiError `validation_failed`, naming every bad field and why
 */
export async function refusePart(part: string, reasons: readonly string[]): Promise<never> {
  const refused = refusals.getOrInsertComputed(currentWork.getStore() ?? {}, () => []);
  refused.push({ part, reasons });
  // Nest calls the pipes of all parameters in one iteration of the event loop: in the next, every refused part is known.
  await nextTurn();
  const inOrder = refused.toSorted((a, b) => PARTS.indexOf(a.part) - PARTS.indexOf(b.part));
  throw new ApiError('validation_failed', `${inOrder.flatMap((one) => one.reasons).join('; ')}.`);
}

/** Makes a DTO outside a request. @throws ApiError `validation_failed` */
export function readDto<Dto extends object>(type: Type<Dto>, values: object): Dto {
  const dto = objectReader(type)(values);
  if (dto instanceof Faults) throw new ApiError('validation_failed', `${dto.reasons.join('; ')}.`);
  return dto as Dto;
}

const readers = new Map<Type, Reader | undefined>();
/** Validates the classes that class-validator and class-transformer decorate. */
const libraries = new ValidationPipe({
  transform: true,
  whitelist: true,
  stopAtFirstError: true,
  exceptionFactory: (errors) => new Faults(errors.flatMap(reasonsOf)),
});

/**
 * Converts a body, query or path to its DTO class, without undeclared properties, and validates it. A class of fields is read
 * by `objectReader` (0.15 µs for a list's query), any other type by Nest's `ValidationPipe` with `transform` and `whitelist`.
 */
@Injectable()
export class DtoPipe implements PipeTransform {
  transform(value: unknown, metadata: ArgumentMetadata): unknown {
    const { metatype, type } = metadata;
    if (type === 'custom' || !metatype) return value;
    const dto = read(value, metadata);
    return dto instanceof Promise ? dto.then((made) => finish(made, metadata)) : finish(dto, metadata);
  }
}

/** Refuses an invalid part of a request, and a body whose caller lacks the permission for it. */
function finish(dto: unknown, { metatype, type }: ArgumentMetadata): unknown {
  if (dto instanceof Faults) return refusePart(type, dto.reasons);
  if (type !== 'body' || !NeedsBy.isFor(metatype!)) return dto;
  const request = currentWork.getStore()!.response!.req as AuthenticatedRequest;
  const { needs } = request.operation;
  if (needs instanceof NeedsBy) needs.require(request, dto as object);
  return dto;
}

/**
 * Requires the permission that `needsBy` demands for the body, for requests that run neither the method nor its pipes.
 * @throws ApiError `permission_denied`
 */
export async function requireForBody(request: AuthenticatedRequest): Promise<void> {
  const { needs } = request.operation;
  if (!(needs instanceof NeedsBy)) return;
  // No interceptor has read the form yet: its values are unknown.
  if (request.body === undefined) needs.requireAll(request);
  else await new DtoPipe().transform(request.body, { type: 'body', metatype: needs.body });
}

/** The DTO of a value, or what is wrong with it. */
function read(value: unknown, metadata: ArgumentMetadata): unknown {
  const reader = readers.getOrInsertComputed(metadata.metatype as Type<object>, readerOf);
  if (!reader) return readByLibraries(value, metadata);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return reader(value);
  return new Faults([`The ${metadata.type} must be a JSON object`]);
}

async function readByLibraries(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
  try {
    return await libraries.transform(value, metadata);
  } catch (error) {
    if (error instanceof Faults) return error;
    // class-transformer calls a sent property named `constructor`, and recurses without a limit.
    if (error instanceof TypeError || error instanceof RangeError)
      return new Faults([`The ${metadata.type} has an object that cannot be read`]);
    throw error;
  }
}

function readerOf(type: Type<object>): Reader | undefined {
  return fieldsIn(type).length > 0 ? objectReader(type) : undefined;
}

/** The messages for a property and the properties inside it. */
function reasonsOf({ property, constraints = {}, children = [] }: ValidationError): string[] {
  return [...Object.values(constraints), ...new Faults(children.flatMap(reasonsOf)).under(`${property}.`)];
}

/**
 * Whether a class of fields also has decorators of class-validator or class-transformer, which its fields would ignore.
 * Neither library documents a way to list the decorators of a class.
 */
export function isMixed(type: Type<object>): boolean {
  return fieldsIn(type).length > 0 && (hasTransformation(type) || hasOtherRule(type));
}

/** Nest's helper for mapped types calls `copyNone` for each property that class-transformer decorates. */
function hasTransformation(type: Type): boolean {
  let has = false;
  const copyNone = () => {
    has = true;
    return false;
  };
  inheritTransformationMetadata(type, () => {}, copyNone);
  return has;
}

/** Every rule of class-validator refuses one of these values; `IsOptional`, which `PartialType` adds, refuses none. */
const PROBES = [undefined, '', {}, -0.5];

/** Whether a class has a rule besides `FIELD_RULE`: validates instances whose properties all have the same value. */
function hasOtherRule(type: Type<object>): boolean {
  return PROBES.some((value) => {
    const instance = new Proxy(Object.create(type.prototype as object) as object, {
      // class-validator finds the rules of an instance by its constructor.
      get: (_target, name) => (name === 'constructor' ? type : value),
    });
    return validateSync(instance).some(isOfOtherRule);
  });
}

/** Whether an error comes from a rule other than `FIELD_RULE`, which reports no nested errors. */
function isOfOtherRule({ constraints = {}, children = [] }: ValidationError): boolean {
  return children.length > 0 || Object.keys(constraints).some((rule) => rule !== FIELD_RULE);
}
