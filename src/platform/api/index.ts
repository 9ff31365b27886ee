export * from './api-error.js';
export * from './bodies.js';
export * from './declarations.js';
export { Deferred, makingDeferred, MakesDeferred } from './deferred.js';
export {
  ChangeSchema,
  ChangeType,
  type Field,
  field,
  fieldOf,
  type FieldOptions,
  fieldsIn,
  JsonText,
} from './dto.js';
export * from './fields.js';
export {
  decimalText,
  isEmailAddress,
  isPlainText,
  NOT_BLANK,
  parseJson,
  parseTime,
  PLAIN,
  unitsOf,
} from './formats.js';
export * from './nested-fields.js';
export * from './route.js';
export {
  type Access,
  Declare,
  hasBody,
  hasSuccess,
  NO_ID,
  type OperationFacts,
  operationOf,
  type Success,
  type Webhook,
} from './operation.js';
export {
  type DeclaredOperation,
  declaredOperations,
  defaultId,
  enumerationsIn,
  interceptBodies,
  pageName,
  requireSound,
  schemasOf,
  type Tags,
  withInside,
} from './sound-operations.js';
export * from './paging.js';
export * from './permissions.js';
export { PLATFORM_ERRORS } from './platform.errors.js';
export * from './registry.js';
export * from './reply.js';
export * from './request.js';
export { DtoPipe, readDto, requireForBody } from './validation.js';
