/**
 * Every time-out on the way to the database, in milliseconds. A complete request is answered within 3 seconds
 * (`request`); the others end its work, each for a reason of its own, so that nothing is waited for without end. They
 * are for a database that is away or stuck: one that is busy, or whose disk takes its time to write, still answers in time.
 */
export const TIMEOUTS = {
  /** Connecting, or waiting for a free connection of the pool. `pg` would wait for ever. */
  connect: 1_000,
  /** The server ends a statement that runs longer. The statements here take a few ms. */
  statement: 1_200,
  /**
   * The server ends a statement that waits longer for a lock. For a row it can wait twice, for its turn among those that
   * wait and then for the row itself: both together end before the statement time-out, which would hide the reason.
   */
  lock: 590,
  /** A server that has sent nothing for this long is frozen or cut off: the connection is given up. */
  silence: 1_300,
  /** A stream of rows whose reader has paused for this long, or whose server is silent, is given up. */
  pausedReader: 30_000,
  /** A transaction is not begun for a request that has less time left: it would hardly end. */
  transaction: 300,
  /** A complete request is answered after this, if need be by a 503. */
  request: 2_900,
  /**
   * So long before that, the connections that a request still has are closed: what it has not committed is undone before its
   * client is told to try again.
   */
  taken: 100,
  /** After this, a read that a replica has not answered goes to the primary. */
  replica: 120,
  /** A replica that needs longer to catch up is lagging; a healthy one needs about 1 ms. */
  replay: 10,
  /** The server ends a transaction whose process has stopped in the middle of it, which releases its locks. */
  idleInTransaction: 5_000,
  /** A migration gives up waiting for a lock after this, so that requests do not wait behind it for longer. */
  migrationLock: 2_000,
  /** A process waits this long for its turn to migrate; it says so after the first, and then every so often. */
  migrationTurn: { first: 1_000, next: 10_000, total: 600_000 },
  /** Connecting at the start, when nobody waits for an answer. */
  start: 5_000,
};
