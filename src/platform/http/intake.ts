import type { Socket } from 'node:net';

/** The number of waiting requests above which a client's connections are read slowly. */
const MANY = 100;
/** Connections of such a client that are read at a time. */
const READ_AT_A_TIME = 2;
/** The pause after each reading, as a multiple of the reading's duration. */
const PAUSE_FACTOR = 2;
/** Maximum milliseconds of a pause: a slow request must not stop the client's other connections. */
const LONGEST_PAUSE_MS = 100;

interface Source {
  readonly socket: Socket;
  /** Whether Node has stopped reading the socket, because a request body is consumed slowly. */
  readonly isStopped: boolean;
}

/**
 * The open connections of a network, which counts as one client, and their waiting requests. Node parses a chunk as a whole,
 * perhaps with thousands of requests, and refusing requests costs more than answering them. So while more than `MANY` requests
 * wait, the connections are hardly read; after that, a few connections are read at a time, for a third of the time.
 */
export class Intake {
  private readonly read = new Set<Source>();
  /** Paused connections, in the order in which they are read again. */
  private readonly paused = new Set<Source>();
  private isSlow = false;
  private waiting = 0;
  private readAt = 0;
  private isDraining = false;

  /** Whether no connection is open. */
  get isEmpty(): boolean {
    return this.read.size + this.paused.size === 0;
  }

  /** Adds an open connection. */
  add(source: Source): void {
    // Node resumes a new socket, and a socket whose answers have been sent: this undoes an earlier `pause`.
    source.socket.on('resume', () => this.paused.has(source) && source.socket.pause());
    (this.isSlow ? this.paused : this.read).add(source);
  }

  delete(source: Source): void {
    this.read.delete(source);
    this.paused.delete(source);
  }

  /** Changes the number of requests that wait for earlier ones on their connection. @param count may be negative */
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

  /** Reads all connections from now on, as the service stops: closing a socket with unread bytes resets its connection. */
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
    // Node reads the resumed sockets in this iteration or the next, at whose end it closes refused connections.
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
