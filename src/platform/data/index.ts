export { DataModule, IdColumn, InjectFastRepository } from './data.module.js';
export { Events } from './events.js';
export { FastRepository, violation } from './fast-repository.js';
export {
  AsksMore,
  Assigned,
  type Draft,
  OneStatement,
  parameterColumn,
  type Part,
  PLACE,
  sentTogether,
  Unfit,
} from './one-statement.js';
export { valuesOf } from './shape.js';
export { Transactions } from './transactions.js';
export { between, startingWith } from './listing.js';
export { Sweeps } from './sweeps.js';
