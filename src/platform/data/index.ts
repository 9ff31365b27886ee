export { IdColumn } from './columns.js';
export { DataModule, InjectFastRepository } from './data.module.js';
export { FastRepository } from './fast-repository.js';
export { settled } from './new-transaction.js';
export { between, startingWith } from './range.js';
export { Sweeps } from './sweeps.js';
export { made } from './together.js';
export { Transactions } from './transactions.js';
export { violation } from './violations.js';
