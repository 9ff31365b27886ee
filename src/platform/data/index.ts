export { DataModule, IdColumn, InjectFastRepository } from './data.module.js';
export { Events } from './events.js';
export { FastRepository, violation } from './fast-repository.js';
export {
  AsksMore,
  Assigned,
  type Draft,
  OneStatement,
  type Part,
  runsTogether,
  Unfit,
} from './one-statement.js';
export { Transactions } from './transactions.js';
export { between, startingWith } from './listing.js';
export { Sweeps } from './sweeps.js';
