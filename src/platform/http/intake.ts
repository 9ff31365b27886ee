import type { Socket } from 'node:net';

/** Requests that may wait before the connections of their client are read slowly. */
const MANY = 100;
/** Connections that are then read at a time. */
const READ_AT_A_TIME = 2;
/** How much longer than such a reading the pause after it is. */
const PAUSE_FACTOR = 2;
/** Milliseconds without reading, at most: requests may wait for a slow one, and other connections with them. */
const LONGEST_PAUSE_MS = 100;

interface Source {
  readonly socket: Socket;
  /** Whether Node reads nothing from it, because the reader of a body is slow. */
  readonly isStopped: boolean;
}

/**
 * The open connections of a network, and the requests that wait on them. Node parses a whole chunk of a connection, which may hold
 * thousands of requests, and refusing them costs more than answering them. So while many requests of a client wait, hardly anything
 * is read from it; then its connections are read a few at a time, for a third of the time.
 */
export class Intake {
  private readonly read = new Set<Source>();
  /** In the order in which they are read again. */
  private readonly paused = new Set<Source>();
  private isSlow = false;
  private waiting = 0;
  private readAt = 0;
  private isDraining = false;

  /** Whether no connection is open. */
  get isEmpty(): boolean {
    return this.read.size + this.paused.size === 0;
  }

  /** A connection was opened. */
  add(source: Source): void {
    // Node resumes a new socket, and one whose answers are sent: `pause` has no effect before that.
    source.socket.on('resume', () => this.paused.has(source) && source.socket.pause());
    (this.isSlow ? this.paused : this.read).add(source);
  }

  delete(source: Source): void {
    this.read.delete(source);
    this.paused.delete(source);
  }

  /** More requests wait for the service to answer earlier ones on their connection, or fewer. */
  change(count: number): void {
    this.waiting += count;
    if (count <= 0 || this.waiting <= MANY || this.isDraining) return;
    for (const source of this.read) {
      source.socket.pause();
      this.paused.add(source);
    }
    this.read.clear();
    if (!this.isSlow) this.readSome();
  }

  /** Reads all connections from now on: the service stops, and a connection that is closed unread is reset. */
  drain(): void {
    this.isDraining = true;
    this.resume(this.paused.size);
  }

  private readSome(): void {
    this.isSlow = this.waiting > MANY || this.paused.size > 0;
    if (!this.isSlow) return;
    const begun = performance.now();
    if (this.waiting > MANY && begun < this.readAt + LONGEST_PAUSE_MS)
      return void setTimeout(() => this.readSome(), 1);
    this.readAt = begun;
    this.resume(READ_AT_A_TIME);
    const rest = () => setTimeout(() => this.readSome(), PAUSE_FACTOR * (performance.now() - begun));
    // They are read in this iteration or the next, and connections that are refused then are closed at its end.
    setImmediate(() => setImmediate(rest));
  }

  private resume(count: number): void {
    for (const source of [...this.paused.values().take(count)]) {
      this.paused.delete(source);
      this.read.add(source);
      if (!source.isStopped) source.socket.resume();
    }
  }
}
