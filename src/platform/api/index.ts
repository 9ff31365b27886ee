export { ApiError } from './api-error.js';
export { parseTime } from './calendar.js';
export {
  AccountId,
  type Anyone,
  type AuthenticatedRequest,
  By,
  type Caller,
  callerOf,
  type RoutedRequest,
} from './caller.js';
export { ChangeSchema } from './change-schema.js';
export { ChangeType } from './change-type.js';
export { type Address, clientAddress, clientNetwork, networkOf, parseAddress } from './client-network.js';
export { type Cursors, decodeCursor, type Position } from './cursor.js';
export { decimalText, keepSource, unitsOf } from './decimal.js';
export {
  type DeclaredOperation,
  declaredOperations,
  defaultId,
  requireErrors,
  requirePermissions,
} from './declared-operations.js';
export { entityTag, EntityTags, IfMatch, isTagged, Precondition } from './entity-tag.js';
export { adviceOn } from './error-advice.js';
export { allErrors, declareErrors, type ErrorCode, type ErrorFacts, factsOf } from './error-codes.js';
export { field, type FieldOptions, fieldsIn } from './field.js';
export {
  BooleanField,
  DateField,
  EmailField,
  EnumField,
  Int64Field,
  IntegerField,
  PatternField,
  TextField,
  TimestampField,
  UrlField,
  UuidField,
} from './fields.js';
export { isInt64Text } from './int64.js';
export { MoneyField } from './money-field.js';
export { ListField, MapField, ObjectField } from './nested-fields.js';
export {
  type Access,
  Declare,
  NO_ID,
  type OperationFacts,
  type TagFacts,
  operationOf,
  type Webhook,
} from './operation-facts.js';
export { KeyAccess, Operation, PasswordAccess, Public, Stability, Tag } from './operation.js';
export { type Direction, OrderField } from './ordering.js';
export { originOf } from './origin.js';
export { Page, PageQuery, type Slice } from './paging.js';
export { BooleanParam, Int64Param, IntegerParam, ListParam } from './params.js';
export {
  allPermissions,
  arePermissions,
  declarePermissions,
  isPermission,
  type Permission,
  permissionNames,
} from './permissions.js';
export { Needs, NeedsBy, requirePermission } from './permitted.js';
export { timesSent } from './raw-headers.js';
export { Reply, ReplyHeaders } from './reply.js';
export { giveRequestId, requestIdOf } from './request-id.js';
export { JsonText } from './serializer.js';
export { Sunset } from './sunset.js';
export { isPlainText } from './text.js';
export { ValidationPipe } from './validation.pipe.js';
export { aboveVersions, isLaterVersion, versionOf, withoutVersion } from './versions.js';
export { Sends } from './webhook.js';
