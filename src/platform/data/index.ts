export { DataModule, IdColumn, InjectFastRepository } from './data.module.js';
export { Events } from './events.js';
export { FastRepository } from './fast-repository.js';
export { type Belonging, belonging, Insert, insert, type Requirement, setting } from './insert.js';
export { between, startingWith } from './listing.js';
export { tableOf } from './shape.js';
export { goOn, Transactions } from './transactions.js';
export { violation } from './violations.js';
