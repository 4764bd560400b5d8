/**
 * The WebSocket connection to a game. It reconnects after network losses, after API Gateway's limit
 * of two hours, and after a laptop's sleep.
 *
 * Every connection needs a new ticket. A connection is live once the server has sent `welcome`.
 * Before that only `hello` is sent.
 */
import { asApiError, type ApiError } from '../shared/api.ts';
import { backoffMs, type Backoff } from '../shared/backoff.ts';
import { parseMessage, PROTOCOL_VERSION, type ClientMessage, type ServerMessage } from './protocol.ts';
import type { Later, Transport, TransportEvents } from './transport.ts';

/** Keeps the connection alive: API Gateway closes one that is idle for 10 minutes. */
export const PING_MS = 4 * 60_000;
/** Without any message for this long after a `hello`, the connection counts as lost. */
export const SILENCE_MAX_MS = 10_000;
/** The same after a `ping`. */
export const PONG_MAX_MS = 5_000;
/** Without any message for this long after a message that gets an answer, a `ping` is sent. */
export const ANSWER_MAX_MS = 1_000;
/** The same after `draw` and `save`, which get no answer. */
export const INK_CHECK_MS = 5_000;
/** How long a connection stays open after the last message, so that the message arrives. */
const LAST_MESSAGE_MS = 3_000;
/** A refused `leave` is sent again after this long. */
export const LEAVE_AGAIN_MS = 1_000;
/** The server is not told of a leave any more after this long. By then the player is away for it. */
export const LEAVE_MAX_MS = 60_000;
/**
 * Lines that wait for a connection or for an acknowledgement. When there are more, the oldest is
 * dropped.
 */
export const UNSENT_LINES_MAX = 20;
/** A line is sent again after one reconnect. A third time needs {@link GameSocket.sayAgain}. */
const LINE_SENDS_MAX = 2;
/** A line without an acknowledgement has failed this long after it was sent, unless it is sent again. */
export const LINE_FAILED_MS = 10_000;
/**
 * After `welcome` the chat history shows which lines have arrived. If it stays away for this long,
 * the unacknowledged lines are sent without it.
 */
const CHAT_WAIT_MS = 3_000;

const BACKOFF: Backoff = { firstMs: 500, maxMs: 15_000 };

/** What the socket depends on. Tests replace it. */
export interface SocketOptions {
  /** Gets a new ticket for this game. Rejects with {@link ApiError}. */
  readonly ticket: () => Promise<string>;
  readonly open: (ticket: string, events: TransportEvents) => Transport;
  readonly later: Later;
  /** From 0 to 1, for the jitter of the backoff. */
  readonly random: () => number;
  readonly onMessage: (message: ServerMessage) => void;
  readonly onState: (state: SocketState) => void;
  /** The lines of which the server has acknowledged none for {@link ANSWER_MAX_MS}. */
  readonly onUnsent: (lines: readonly WaitingLine[]) => void;
}

/** A chat line without an acknowledgement. */
export interface WaitingLine {
  readonly id: string;
  readonly text: string;
  /** It is not sent again by itself. */
  readonly hasFailed: boolean;
}

/**
 * `connecting` for the first time, `live`, `reconnecting` after a loss, or `ended`. An ended
 * connection does not reconnect.
 */
export type SocketState =
  | { readonly is: 'connecting' | 'live' | 'reconnecting' }
  | { readonly is: 'ended'; readonly why: 'replaced' | 'kicked' | 'left' }
  | { readonly is: 'ended'; readonly why: 'refused'; readonly error: ApiError };

interface UnsentLine extends WaitingLine {
  hasFailed: boolean;
  sends: number;
  /** To be sent over this connection. */
  isDue: boolean;
  /** Without an acknowledgement for {@link ANSWER_MAX_MS}, or while there is no connection. */
  isLate: boolean;
  cancelFailure: () => void;
}

/** One browser's connection to one game. */
export class GameSocket {
  readonly #options: SocketOptions;
  #transport: Transport | undefined;
  /** Increases with every attempt, so that events of an abandoned connection are ignored. */
  #attempt = 0;
  #failures = 0;
  #live = false;
  #ended = false;
  /** The player has left. The connection goes on until the server knows. */
  #leaving = false;
  #lines: UnsentLine[] = [];
  /** The line that waits for its acknowledgement. */
  #inFlight: string | null = null;
  #cancelInFlight = () => {};
  #chatSeen = false;
  #cancelRetry = () => {};
  #cancelPing = () => {};
  #cancelSilence = () => {};
  #checkMs = Infinity;
  #cancelCheck = () => {};
  #cancelChatWait = () => {};
  #cancelLeave = () => {};
  #cancelGivingUp = () => {};

  constructor(options: SocketOptions) {
    this.#options = options;
  }

  /** Connects, and reconnects from then on. */
  start(): void {
    this.#options.onState({ is: 'connecting' });
    void this.#connect();
  }

  /**
   * Sends a message that is useful only now. `false` when there is no connection; the message is
   * not queued.
   */
  send(message: ClientMessage): boolean {
    if (!this.#live) return false;
    this.#transport?.send(JSON.stringify(message));
    if (message.action !== 'ping') {
      this.#check(message.action === 'draw' || message.action === 'save' ? INK_CHECK_MS : ANSWER_MAX_MS);
    }
    return true;
  }

  /**
   * Sends a chat line now or after the next `welcome`. A line without an acknowledgement is sent
   * once more.
   */
  say(id: string, text: string): void {
    const isLate = !this.#live;
    const line: UnsentLine = { id, text, sends: 0, isDue: true, isLate, hasFailed: false, cancelFailure: () => {} };
    this.#lines.push(line);
    if (this.#lines.length > UNSENT_LINES_MAX) this.#lines.shift();
    this.#sendNextLine();
    if (!this.#live) this.#showUnsent();
    this.#options.later(ANSWER_MAX_MS, () => {
      line.isLate = true;
      this.#showUnsent();
    });
  }

  /** Sends a failed line again, with the same id: everybody shows it once, even if it had arrived. */
  sayAgain(id: string): void {
    const line = this.#lines.find((line) => line.id === id);
    if (line === undefined) return;
    Object.assign(line, { sends: 0, isDue: true, hasFailed: false });
    this.#showUnsent();
    this.#sendNextLine();
  }

  /** Forgets a failed line. */
  discard(id: string): void {
    this.#lines = this.#lines.filter((line) => line.id !== id);
    this.#showUnsent();
  }

  /**
   * Called when the network is back or the page is visible again. Checks the connection, or
   * reconnects without waiting for the backoff.
   */
  wake(): void {
    if (this.#ended) return;
    if (this.#live) {
      this.#ping();
    } else if (this.#transport === undefined) {
      this.#failures = 0;
      this.#cancelRetry();
      void this.#connect();
    }
  }

  /** Called when the network is lost: does not wait until the connection is found dead. */
  interrupt(): void {
    if (this.#live) this.#lost();
  }

  /**
   * Leaves for good: nothing is told of the game any more. `leave` is sent now or after the next
   * `welcome`, and again if it is refused, until the server closes the connection.
   */
  leave(): void {
    if (this.#ended || this.#leaving) return;
    this.#lines = [];
    this.#tell({ is: 'ended', why: 'left' });
    this.#leaving = true;
    this.#cancelGivingUp = this.#options.later(LEAVE_MAX_MS, () => this.abandon());
    this.send({ action: 'leave' });
  }

  /** Ends the connection for good without `leave`: the player keeps the seat. */
  close(): void {
    if (!this.#leaving) this.abandon();
  }

  /** Ends the connection for good. A `leave` that the server does not know yet is taken back. */
  abandon(): void {
    this.#end({ is: 'ended', why: 'left' });
  }

  #tell(state: SocketState): void {
    if (!this.#leaving) this.#options.onState(state);
  }

  async #connect(): Promise<void> {
    const attempt = ++this.#attempt;
    const current = () => attempt === this.#attempt && !this.#ended;
    let ticket: string;
    try {
      ticket = await this.#options.ticket();
    } catch (failure) {
      if (!current()) return;
      const error = asApiError(failure);
      if (error.isTransient) this.#lost();
      else this.#end({ is: 'ended', why: 'refused', error });
      return;
    }
    if (!current()) return;
    this.#expectAnswer(SILENCE_MAX_MS);
    this.#transport = this.#options.open(ticket, {
      onOpen: () => {
        if (current()) this.#transport?.send(JSON.stringify({ action: 'hello', protocol: PROTOCOL_VERSION }));
      },
      onText: (text) => {
        if (current()) this.#receive(text);
      },
      onClose: () => {
        if (!current()) return;
        if (this.#leaving && this.#live) this.abandon();
        else this.#lost();
      },
    });
  }

  #receive(text: string): void {
    this.#cancelSilence();
    this.#cancelCheck();
    this.#checkMs = Infinity;
    const message = parseMessage(text);
    if (message === null) return;
    this.#handle(message);
    // Lines that came with a change of the room are like any others.
    if (message.type === 'room' && message.lines) this.#handle({ type: 'chat', lines: message.lines });
  }

  #handle(message: ServerMessage): void {
    this.#acknowledge(message);
    if (message.type === 'welcome') {
      this.#live = true;
      this.#failures = 0;
      this.#schedulePing();
      this.#tell({ is: 'live' });
      if (this.#leaving) this.send({ action: 'leave' });
      if (this.#chatSeen) this.#sendLines();
      else this.#cancelChatWait = this.#options.later(CHAT_WAIT_MS, () => this.#sendLines());
    }
    if (message.type === 'replaced' || message.type === 'kicked') {
      this.#end({ is: 'ended', why: message.type });
    }
    if (!this.#leaving) this.#options.onMessage(message);
    // A refused `hello`, for example from a throttled database, is tried again in a new connection.
    if (message.type === 'error' && message.action === 'hello') return this.#lost();
    if (message.type === 'error' && message.action === 'leave' && this.#leaving) {
      this.#cancelLeave();
      this.#cancelLeave = this.#options.later(LEAVE_AGAIN_MS, () => this.send({ action: 'leave' }));
    }
    if (message.type === 'chat' && !this.#chatSeen) {
      this.#chatSeen = true;
      this.#cancelChatWait();
      if (this.#live) this.#sendLines();
    }
  }

  /** A message about these lines shows that they have arrived. */
  #acknowledge(message: ServerMessage): void {
    const ids =
      message.type === 'chat'
        ? message.lines.map((line) => line.id)
        : message.type === 'near' || message.type === 'error'
          ? [message.id]
          : [];
    if (ids.length === 0) return;
    // It did not count, so it is kept until the player sends it again or discards it.
    const isTooFast = message.type === 'error' && message.error.type.endsWith(':too-fast');
    for (const line of this.#lines.filter(({ id }) => isTooFast && ids.includes(id))) {
      line.cancelFailure();
      line.isLate = line.hasFailed = true;
    }
    this.#lines = this.#lines.filter((line) => isTooFast || !ids.includes(line.id));
    this.#showUnsent();
    if (ids.includes(this.#inFlight)) this.#lineDone();
  }

  #showUnsent(): void {
    const late = this.#lines.filter((line) => line.isLate);
    this.#options.onUnsent(late.map(({ id, text, hasFailed }) => ({ id, text, hasFailed })));
  }

  /** Sends the lines again that an earlier connection may have lost. */
  #sendLines(): void {
    for (const line of this.#lines) {
      line.isDue ||= line.id !== this.#inFlight && !line.hasFailed && line.sends < LINE_SENDS_MAX;
    }
    this.#sendNextLine();
  }

  /** One line at a time: the server would receive several in any order, and refuse some of them. */
  #sendNextLine(): void {
    const line = this.#lines.find(({ isDue }) => isDue);
    if (!this.#live || this.#inFlight !== null || line === undefined) return;
    line.isDue = false;
    line.sends += 1;
    this.#inFlight = line.id;
    this.send({ action: 'say', id: line.id, text: line.text });
    this.#cancelInFlight = this.#options.later(ANSWER_MAX_MS, () => this.#lineDone());
    line.cancelFailure();
    line.cancelFailure = this.#options.later(LINE_FAILED_MS, () => {
      // Without a connection, a line that was sent once waits for the next one.
      line.hasFailed = !line.isDue && (this.#live || line.sends >= LINE_SENDS_MAX);
      this.#showUnsent();
    });
  }

  #lineDone(): void {
    this.#cancelInFlight();
    this.#inFlight = null;
    this.#sendNextLine();
  }

  #schedulePing(): void {
    this.#cancelPing();
    this.#cancelPing = this.#options.later(PING_MS, () => this.#ping());
  }

  #ping(): void {
    this.send({ action: 'ping' });
    this.#expectAnswer(PONG_MAX_MS);
    this.#schedulePing();
  }

  /** Sends a `ping` after a silence, unless an earlier one is already planned. */
  #check(afterMs: number): void {
    if (afterMs >= this.#checkMs) return;
    this.#cancelCheck();
    this.#checkMs = afterMs;
    this.#cancelCheck = this.#options.later(afterMs, () => this.#ping());
  }

  #expectAnswer(maxMs: number): void {
    this.#cancelSilence();
    this.#cancelSilence = this.#options.later(maxMs, () => this.#lost());
  }

  #lost(): void {
    this.#drop()?.close();
    for (const line of this.#lines) line.isLate = true;
    this.#showUnsent();
    this.#failures += 1;
    this.#tell({ is: 'reconnecting' });
    const pauseMs = backoffMs(BACKOFF, this.#failures, this.#options.random());
    this.#cancelRetry();
    this.#cancelRetry = this.#options.later(pauseMs, () => void this.#connect());
  }

  #end(state: SocketState): void {
    if (this.#ended) return;
    this.#ended = true;
    const transport = this.#drop();
    // Stops the end of the connection from overtaking its last message. After `leave` the server
    // closes the connection.
    if (transport) this.#options.later(LAST_MESSAGE_MS, () => transport.close());
    this.#cancelRetry();
    this.#cancelGivingUp();
    this.#tell(state);
  }

  /** Forgets the connection, and returns it to be closed. */
  #drop(): Transport | undefined {
    this.#attempt += 1;
    this.#live = false;
    this.#chatSeen = false;
    this.#checkMs = Infinity;
    this.#inFlight = null;
    for (const cancel of [
      this.#cancelPing,
      this.#cancelSilence,
      this.#cancelCheck,
      this.#cancelChatWait,
      this.#cancelInFlight,
      this.#cancelLeave,
    ])
      cancel();
    const transport = this.#transport;
    this.#transport = undefined;
    return transport;
  }
}
