import { ApiError, FORM_TYPE, JSON_TYPE } from '../api/index.js';
import { Holdings, Shares } from '../process/index.js';
import { guard } from './guarded-events.js';
import type { Exchange } from './exchange.js';

/** Bodies that may be on their way at a time: with the usual 100 kB each, 100 MB. */
const ARRIVING = 1_000;

/** Bytes of memory that larger bodies may take together, from when they are read until their requests are answered. */
const ROOM_BYTES = 128 * 1024 * 1024;

/** How often the memory of a body is taken: a form is cut into its files, and JSON becomes values. */
const COPIES: Record<string, number> = { [FORM_TYPE]: 2, [JSON_TYPE]: 4 };

/** A larger body of which nothing has come for so many milliseconds is given up, as is one that comes more slowly than this. */
const STALLED_MS = 15_000;
const LEAST_BYTES_PER_MS = 16;

/** A larger body may wait for room for so many milliseconds. */
const WAIT_MS = 10_000;

/** After so many milliseconds, a larger body that is still on its way may lose its room to a client that has less. */
const SLOW_MS = 1_000;

/** A body has so much longer as it brings bytes: what is not slow is there, however large, before others have waited too long. */
const FAST_BYTES_PER_MS = 4_000;

/**
 * A client may have so many times what it leaves free of the room: three quarters of it where it is alone, three sevenths beside
 * another. So there is room for whoever comes next, and nobody has to lose any.
 */
const TIMES_FREE = 3;

const CHECK_MS = 250;

/** Ends the wait for a body, which has arrived unless there is a failure. */
export type Settle = (failure?: ApiError) => void;

/** The bodies on their way. Beyond their bound, whoever has most loses the oldest. */
export const arriving = new Holdings<Settle>(ARRIVING, (settle) => settle(tooMany()));

/** A client that sends on is not listened to. */
export function tooMany(): ApiError {
  return new ApiError('service_unavailable', undefined, { headers: { Connection: 'close' } });
}

/** A body that is larger than the usual ones may be. */
export class Upload {
  private since = performance.now();
  private begun = Infinity;
  private received = 0;

  /**
   * @param type its media type, as its operation names it
   * @param bytes how many it may have
   * @param settle ends the wait for it
   * @param read begins to read it, when there is room
   */
  constructor(
    readonly exchange: Exchange,
    private readonly type: string,
    private readonly bytes: number,
    readonly settle: Settle,
    readonly read: () => void,
  ) {}

  get client(): string {
    return this.exchange.client;
  }

  /** The memory that it may take, in bytes. What is decompressed is there twice. */
  get weight(): number {
    const isCompressed = this.exchange.request.headers['content-encoding'] !== undefined;
    const weight = this.bytes * ((COPIES[this.type] ?? 1) + (isCompressed ? 1 : 0));
    return Math.min(ROOM_BYTES, weight);
  }

  begin(): void {
    this.begun = this.since = performance.now();
    this.read();
  }

  progress(bytes: number): void {
    this.received += bytes;
    this.since = performance.now();
  }

  isSlow(now: number): boolean {
    return now - this.begun >= SLOW_MS + this.received / FAST_BYTES_PER_MS;
  }

  /** What is to be done about it by now, if anything. */
  failure(now: number): ApiError | undefined {
    if (this.begun === Infinity) return now - this.since >= WAIT_MS ? tooMany() : undefined;
    const isLate = now - this.begun >= STALLED_MS + this.received / LEAST_BYTES_PER_MS;
    if (!isLate && now - this.since < STALLED_MS) return undefined;
    return new ApiError('request_timeout', undefined, { headers: { Connection: 'close' } });
  }
}

/**
 * The memory for larger bodies. One that finds no room waits unread, and clients take turns. A client that has less than
 * another takes the room of that one's oldest body, if that is slow: slow bodies, however many, turn nobody else away.
 */
class Room {
  private readonly waiting = new Shares<Upload>();
  private readonly arriving = new Shares<Upload>();
  /** Those that have room, whether they are still arriving or not, and the bytes of each client. */
  private readonly inside = new Set<Upload>();
  private readonly bytesOf = new Map<string, number>();
  private taken = 0;
  private isLettingIn = false;
  private timer?: NodeJS.Timeout;

  enter(upload: Upload): void {
    this.waiting.add(upload.client, upload);
    this.letIn();
    this.timer ??= setInterval(() => this.check(), CHECK_MS).unref();
  }

  /** It has arrived, and keeps its room until `leave`. */
  arrived(upload: Upload): void {
    this.arriving.delete(upload.client, upload);
  }

  leave(upload: Upload): void {
    this.waiting.delete(upload.client, upload);
    this.arriving.delete(upload.client, upload);
    if (this.inside.delete(upload)) this.take(upload.client, -upload.weight);
    this.letIn();
  }

  private letIn(): void {
    if (this.isLettingIn) return;
    this.isLettingIn = true;
    try {
      for (let next = this.next(); next; next = this.next()) {
        const { client } = next;
        this.waiting.takeTurn((one) => one === client);
        this.inside.add(next);
        this.take(client, next.weight);
        this.arriving.add(client, next);
        next.begin();
      }
    } finally {
      this.isLettingIn = false;
    }
  }

  private take(client: string, bytes: number): void {
    const held = this.heldBy(client) + bytes;
    if (held > 0) this.bytesOf.set(client, held);
    else this.bytesOf.delete(client);
    this.taken += bytes;
  }

  private heldBy(client: string): number {
    return this.bytesOf.get(client) ?? 0;
  }

  /** The first whose turn it is and whose client has no more than its share, if there is room; else the first that may take room from another client. */
  private next(): Upload | undefined {
    const first = this.first();
    if (first && this.fits(first)) return first;
    const now = performance.now();
    let most = this.slowest(now);
    for (const [upload] of this.waiting.lines()) {
      const wanted = weightOf(this.arriving.lineOf(upload!.client)) + upload!.weight;
      while (most && most.weight > wanted) {
        most.oldest.settle(tooMany());
        if (this.fits(upload!)) return upload;
        most = this.slowest(now);
      }
    }
    return undefined;
  }

  private first(): Upload | undefined {
    for (const [upload] of this.waiting.lines()) {
      const { client, weight } = upload!;
      const held = this.heldBy(client);
      if (held === 0 || held + weight <= TIMES_FREE * (ROOM_BYTES - this.taken - weight)) return upload;
    }
    return undefined;
  }

  /** What the client with most has on its way, if the oldest of that is slow. */
  private slowest(now: number): { oldest: Upload; weight: number } | undefined {
    const [, line] = this.arriving.longest(weightOf) ?? [];
    const [oldest] = line ?? [];
    return oldest?.isSlow(now) ? { oldest, weight: weightOf(line!) } : undefined;
  }

  private fits({ weight }: Upload): boolean {
    return this.taken + weight <= ROOM_BYTES;
  }

  private check(): void {
    const now = performance.now();
    for (const line of [...this.waiting.lines(), ...this.arriving.lines()])
      for (const upload of [...line]) {
        const failure = upload.failure(now);
        if (failure) guard(upload.exchange.request.socket, () => upload.settle(failure));
      }
    this.letIn();
    if (this.waiting.size + this.arriving.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }
}

function weightOf(line: Iterable<Upload>): number {
  let sum = 0;
  for (const { weight } of line) sum += weight;
  return sum;
}

export const room = new Room();
