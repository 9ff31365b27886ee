// What a feature may use of the platform, in the order of docs/extending.md. Nothing else of it is for features.

// The table
export {
  between,
  DataModule,
  FastRepository,
  IdColumn,
  InjectFastRepository,
  startingWith,
  Sweeps,
  Transactions,
  violation,
} from './data/index.js';

// The fields
export {
  AccountId,
  ApiError,
  BooleanField,
  BooleanParam,
  By,
  type Caller,
  ChangeSchema,
  ChangeType,
  DateField,
  decimalText,
  declareErrors,
  declarePermissions,
  type Direction,
  EmailField,
  EntityTags,
  EnumField,
  field,
  type FieldOptions,
  IfMatch,
  Int64Field,
  Int64Param,
  IntegerField,
  IntegerParam,
  ListField,
  ListParam,
  MapField,
  MoneyField,
  Needs,
  NeedsBy,
  ObjectField,
  Operation,
  OrderField,
  Page,
  PageQuery,
  PatternField,
  Precondition,
  Public,
  Reply,
  ReplyHeaders,
  Sends,
  Stability,
  Sunset,
  Tag,
  TextField,
  TimestampField,
  unitsOf,
  UrlField,
  UuidField,
  type Webhook,
} from './api/index.js';

// The work

// The routes
export { AccountClosing, AuditLog, type Change, Idempotent } from './safeguards/index.js';

// Errors and permissions
export * from './api/declared.js';

// Rows of an account, what was done to them, and what is done later
export { HandlesJob, type Job, JobError, Jobs, type Outcome, Scheduled } from './jobs/index.js';
export { Metrics } from './telemetry/index.js';
