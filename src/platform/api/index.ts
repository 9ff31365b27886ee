export {
  adviceOn,
  allErrors,
  ApiError,
  declareErrors,
  type ErrorCode,
  type ErrorFacts,
  factsOf,
} from './api-error.js';
export {
  AccountId,
  type Anyone,
  type AuthenticatedRequest,
  By,
  type Caller,
  callerOf,
  type RoutedRequest,
} from './caller.js';
export { ChangeSchema, ChangeType, JsonText, ValidationPipe } from './dto.js';
export { field, type FieldOptions, fieldsIn } from './field.js';
export {
  BooleanField,
  BooleanParam,
  DateField,
  EmailField,
  EnumField,
  Int64Field,
  Int64Param,
  IntegerField,
  IntegerParam,
  MoneyField,
  PatternField,
  TextField,
  TimestampField,
  UrlField,
  UuidField,
} from './fields.js';
export { decimalText, isInt64Text, isPlainText, keepSource, parseTime, unitsOf } from './formats.js';
export { ListField, ListParam, MapField, ObjectField } from './nested-fields.js';
export {
  type Access,
  Declare,
  type DeclaredOperation,
  declaredOperations,
  defaultId,
  KeyAccess,
  Needs,
  NeedsBy,
  NO_ID,
  Operation,
  type OperationFacts,
  operationOf,
  PasswordAccess,
  Public,
  requireErrors,
  requirePermission,
  requirePermissions,
  Sends,
  Stability,
  Sunset,
  Tag,
  type TagFacts,
  type Webhook,
} from './operation.js';
export {
  type Cursors,
  decodeCursor,
  type Direction,
  OrderField,
  Page,
  PageQuery,
  type Position,
  type Slice,
  SortField,
} from './paging.js';
export {
  allPermissions,
  arePermissions,
  declarePermissions,
  isPermission,
  type Permission,
  permissionNames,
} from './permissions.js';
export { entityTag, EntityTags, IfMatch, isTagged, Precondition, Reply, ReplyHeaders } from './reply.js';
export {
  aboveVersions,
  type Address,
  clientAddress,
  clientNetwork,
  giveRequestId,
  isLaterVersion,
  networkOf,
  originOf,
  parseAddress,
  requestIdOf,
  timesSent,
  versionOf,
  withoutVersion,
} from './request.js';
