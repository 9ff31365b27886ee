export {
  adviceOn,
  allErrors,
  ApiError,
  declareErrors,
  declareFeatureErrors,
  type ErrorCode,
  type ErrorFacts,
  type Errors,
  factsOf,
  isDeclared,
} from './api-error.js';
export * from './bodies.js';
export { ChangeSchema, ChangeType, gapWriter, JsonText, ValidationPipe } from './dto.js';
export { field, type FieldOptions, fieldsIn } from './field.js';
export * from './fields.js';
export {
  decimalText,
  isEmailAddress,
  isInt64Text,
  isPlainText,
  NOT_BLANK,
  parseJson,
  parseTime,
  PLAIN,
  unitsOf,
} from './formats.js';
export * from './nested-fields.js';
export * from './operation.js';
export * from './paging.js';
export * from './permissions.js';
export * from './reply.js';
export * from './request.js';
export {
  type DeclaredOperation,
  declaredOperations,
  defaultId,
  requireSound,
} from './declared-operations.js';
