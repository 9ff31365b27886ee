// The platform's API for features, in the order of docs/extending.md and the pages that it links.

// The table
export { IdColumn } from './data/index.js';

// The fields
export {
  BooleanField,
  BooleanParam,
  ChangeSchema,
  ChangeType,
  DateField,
  decimalText,
  EmailField,
  EnumField,
  field,
  type FieldOptions,
  Int64Field,
  Int64Param,
  IntegerField,
  IntegerParam,
  JsonField,
  ListField,
  ListParam,
  MoneyField,
  ObjectField,
  PatternField,
  TextField,
  TimestampField,
  unitsOf,
  UrlField,
  UuidField,
} from './api/index.js';

// The service
export {
  type Belonging,
  belonging,
  between,
  Events,
  FastRepository,
  InjectFastRepository,
  Insert,
  insert,
  type Requirement,
  setting,
  startingWith,
  Transactions,
  violation,
} from './data/index.js';

export { RowStreams } from './database/index.js';

// The routes
export { Idempotent } from './safeguards/index.js';
export {
  AccountId,
  By,
  type Caller,
  type Direction,
  EntityTags,
  IfMatch,
  Operation,
  OrderField,
  Page,
  PageQuery,
  Precondition,
  Public,
  Reply,
  ReplyHeaders,
  SortField,
  Stability,
  Sunset,
} from './api/index.js';

// The feature, its errors and its permissions
export { Feature } from './features/index.js';
export * from './api/declarations.js';
export { ApiError, type Needs, needsBy } from './api/index.js';

// Account closing, the audit log, webhooks, jobs, metrics and the start block
export { AccountClosing, AuditLog, type Change } from './safeguards/index.js';
export { Sends, type Webhook } from './api/index.js';
export { HandlesJob, type Job, JobError, Jobs, Scheduled } from './jobs/index.js';
export { Metrics } from './telemetry/index.js';
export { StartBlock } from './process/index.js';
