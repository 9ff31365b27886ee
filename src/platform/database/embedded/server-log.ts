import { appendFileSync, chmodSync, renameSync, writeFileSync } from 'node:fs';

/** Bytes after which the log begins anew; what was before stays in a second file until the next time. */
const LIMIT = 1_000_000;
/** Characters that are kept to explain a failure. */
const RECENT = 4_000;

/** What PostgreSQL says, in a file that only its owner can read and that does not grow without end. */
export class ServerLog {
  private size = 0;
  private recent = '';

  constructor(private readonly path: string) {}

  /** Empties the file, which may be from an earlier start. */
  open(): void {
    writeFileSync(this.path, '', { mode: 0o600 });
    chmodSync(this.path, 0o600);
    this.size = 0;
  }

  /** Marks the start of a program: `tail` tells only of what follows. */
  begin(): void {
    this.recent = '';
  }

  /** A disk that is full must not end the service with the server that has filled it. */
  write(chunk: Buffer): void {
    this.recent = (this.recent + chunk.toString()).slice(-RECENT);
    try {
      if (this.size + chunk.length > LIMIT) this.rotate();
      appendFileSync(this.path, chunk);
      this.size += chunk.length;
    } catch {
      // It is in `recent`.
    }
  }

  /** The last lines that the program wrote, as one. */
  tail(): string {
    return `${this.recent.trim().split('\n').slice(-3).join(' ')} (${this.path})`;
  }

  private rotate(): void {
    renameSync(this.path, `${this.path}.1`);
    this.open();
  }
}
