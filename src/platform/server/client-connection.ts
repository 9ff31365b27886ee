import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Exchange } from './exchange.js';

/**
 * Requests that may be pending on one connection. Node hands over all that come in one chunk, which can be thousands;
 * pipelining clients (RFC 9112, 9.3.2) send some tens at most.
 */
const PENDING = 100;

/** Requests of one connection that are worked on before the answer to the first of them has been sent. */
const UNDER_WAY = 8;

/** RFC 9110, 9.2.1. Only these may be worked on in parallel (RFC 9112, 9.3.2): each of the others waits for those before it. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** Requests that one connection may send after those that were too many; Node reads on until it is closed. */
const IGNORED = 1_000;

/** A client that has read nothing of an answer for this many milliseconds is cut off. */
const UNREAD_MS = 30_000;

/** What a connection does with its requests. */
export interface ConnectionHandler {
  /** @param wasRefused whether the last request on its connection was answered 4xx */
  begin(exchange: Exchange, wasRefused: boolean): void;
  /** The answer has been sent, or the client has gone. */
  closed(exchange: Exchange): void;
  /** More requests are pending than `PENDING`. */
  tooMany(connection: ClientConnection): void;
}

/** The requests of one connection, in their order. */
export class ClientConnection {
  private readonly underWay = new Set<Exchange>();
  private readonly waiting: Exchange[] = [];
  private isEnding = false;
  private end?: () => void;
  private ignored = 0;
  private wasRefused = false;
  private sent = 0;
  private unreadSince = Infinity;
  /** The last request, if it was answered before all of it had arrived. */
  private early?: IncomingMessage;

  /** @param network where it comes from; undefined if only the headers of its requests tell */
  constructor(
    readonly socket: Socket,
    readonly network: string | undefined,
    private readonly handler: ConnectionHandler,
  ) {}

  /**
   * Whether it takes no more requests. Then Node is told to make no more of those that follow, which may be thousands in one
   * chunk: each would take 30 µs as a request and a response that nobody needs, and takes 6 µs so. Where Node's parser has
   * another name for it, they are ignored one by one, and a test of floods fails.
   */
  refuses(): boolean {
    if (!this.isEnding) return false;
    const { parser } = this.socket as { parser?: { onIncoming: () => number } | null };
    if (parser) {
      parser.onIncoming = () => {
        this.ignore();
        return 0;
      };
    }
    this.ignore();
    return true;
  }

  /** Begins with a request, when it is its turn. */
  take(exchange: Exchange): void {
    if (this.underWay.size + this.waiting.length >= PENDING) return this.handler.tooMany(this);
    this.waiting.push(exchange);
    this.startNext();
  }

  /** Takes no further request, and ends in this way once those before have their answers. */
  finish(end: () => void): void {
    if (this.isEnding) return;
    this.isEnding = true;
    this.end = end;
    this.endIfAnswered();
  }

  /** The socket has closed. Node tells the response at the head of the line alone. */
  gone(): void {
    this.isEnding = true;
    this.waiting.length = 0;
    for (const exchange of this.underWay) this.close(exchange);
  }

  /** Whether the client reads nothing of what it has asked for. To be called now and then, with the present time. */
  isUnread(now: number): boolean {
    const { socket } = this;
    const sent = sentOver(socket);
    if (socket.writableLength === 0) this.unreadSince = Infinity;
    else if (sent !== this.sent || this.unreadSince === Infinity) this.unreadSince = now;
    this.sent = sent;
    return now - this.unreadSince >= UNREAD_MS;
  }

  /** Whether what arrives belongs to a request that has its answer: another one would be read as that to the next. */
  get wasAnsweredEarly(): boolean {
    return this.early?.complete === false;
  }

  /** The bytes of answers that wait to be sent. */
  get unsent(): number {
    let bytes = 0;
    for (const { response } of this.underWay) bytes += response.writableLength;
    return bytes;
  }

  private ignore(): void {
    if (++this.ignored > IGNORED) cutOff(this.socket);
  }

  private startNext(): void {
    while (this.waiting.length > 0 && this.mayStart(this.waiting[0]!)) this.start(this.waiting.shift()!);
  }

  private mayStart({ request }: Exchange): boolean {
    if (this.underWay.size === 0) return true;
    if (this.underWay.size >= UNDER_WAY || !isSafe(request)) return false;
    // One that is not safe is under way alone.
    const [first] = this.underWay;
    return isSafe(first!.request);
  }

  private start(exchange: Exchange): void {
    this.underWay.add(exchange);
    exchange.response.once('close', () => this.close(exchange));
    this.handler.begin(exchange, this.wasRefused);
  }

  private close(exchange: Exchange): void {
    if (!this.underWay.delete(exchange)) return;
    const { request, response } = exchange;
    this.wasRefused = response.statusCode >= 400 && response.statusCode < 500;
    this.early = request.complete ? undefined : request;
    this.handler.closed(exchange);
    this.startNext();
    if (this.end) this.endIfAnswered();
  }

  /** What is wrong may be in the last request: its own answer is not waited for. */
  private endIfAnswered(): void {
    const { end } = this;
    const [first] = this.underWay;
    if (!end || this.waiting.length > 0 || this.underWay.size > 1 || first?.request.complete) return;
    this.end = undefined;
    end();
  }
}

/**
 * Closes a connection with a reset: what waits to be sent would else keep its memory in the kernel. One that is ending is
 * closed without: libuv refuses to reset it, and Node would forget it while it is open and goes on reading.
 */
export function cutOff(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

function isSafe({ method }: IncomingMessage): boolean {
  return SAFE.has(method!);
}

/** The bytes that the kernel has taken; `bytesWritten` of a socket also counts those that wait for it. */
function sentOver(socket: Socket): number {
  const { _handle } = socket as { _handle?: { bytesWritten: number; writeQueueSize: number } | null };
  return _handle ? _handle.bytesWritten - _handle.writeQueueSize : 0;
}
