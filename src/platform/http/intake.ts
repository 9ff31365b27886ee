import type { Socket } from 'node:net';

/** Connections that are read again in one iteration of the event loop, after their client has sent too much. */
const READ_PER_ITERATION = 2;

interface Source {
  readonly socket: Socket;
  /** Whether nothing is read from it already. */
  readonly isPaused: boolean;
}

/**
 * The open connections of a network. Node parses a whole chunk of a connection, which may hold thousands of requests, and frees them
 * at the end of the iteration at the earliest. So once a client has sent more requests than may wait, its connections are read a few
 * at a time.
 */
export class Intake {
  private readonly sources = new Set<Source>();
  /** In the order in which they are read again. */
  private paused: Source[] = [];

  /** Whether no connection is open. */
  get isEmpty(): boolean {
    return this.sources.size === 0;
  }

  add(source: Source): void {
    this.sources.add(source);
  }

  delete(source: Source): void {
    this.sources.delete(source);
  }

  /** Stops reading all connections, and goes on a few at a time. */
  slowDown(): void {
    const isSlow = this.paused.length > 0;
    for (const source of this.sources) {
      if (source.isPaused) continue;
      source.socket.pause();
      this.paused.push(source);
    }
    if (!isSlow && this.paused.length > 0) this.schedule();
  }

  private schedule(): void {
    setImmediate(() => {
      for (const { socket } of this.paused.splice(0, READ_PER_ITERATION)) socket.resume();
      if (this.paused.length > 0) this.schedule();
    });
  }
}
