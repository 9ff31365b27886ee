/**
 * Every time-out on the way to the database, in milliseconds. A request is answered within 3 seconds, by a 503 if need
 * be. At the worst it waits for a connection and a statement twice, once for its key and once for what it asks for, and
 * only the last statement can meet silence. What goes together with others waits 25 ms more for those under way
 * (batcher.ts), and a list may have tried a replica before: 2 × connect + replica + 25 + statement + silence stays
 * below. A write whose group was refused for a lock goes once more by itself: connect + lock more, where its key was
 * known and the group had a connection at once.
 */
export const TIMEOUTS = {
  /** Connecting, or waiting for a free connection of the pool. `pg` would wait for ever. */
  connect: 700,
  /** The server ends a statement that runs longer. The statements here take a few ms. */
  statement: 600,
  /** The server ends a statement that waits longer for a lock: sooner than others give up waiting for its connection. */
  lock: 450,
  /** A server that has said nothing for this long is frozen or cut off: the connection is given up. */
  silence: 850,
  /** A read goes to the primary that a replica has not answered. */
  replica: 120,
  /** A replica that needs longer to have what is wanted of it lags. A healthy one is about one behind. */
  replay: 10,
  /** The server ends a transaction whose process has stopped in the middle, so that its locks go. */
  idleInTransaction: 5_000,
  /** A migration gives up a lock that it has waited for this long, so that requests do not wait behind it for longer. */
  migrationLock: 2_000,
  /** Connecting at the start, where nobody waits for an answer. */
  start: 5_000,
};
