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

/** Keeps the connection alive: API Gateway closes one that is idle for 10 minutes. */
export const PING_MS = 4 * 60_000;
/** Without any message for this long after a `hello` or `ping`, the connection counts as lost. */
export const SILENCE_MAX_MS = 10_000;
/**
 * Lines that wait for a connection or for an acknowledgement. When there are more, the oldest is
 * dropped.
 */
export const UNSENT_LINES_MAX = 20;
/** A line is sent again after one reconnect, never a third time. */
const LINE_SENDS_MAX = 2;
/**
 * After `welcome` the chat history shows which lines have arrived. If it stays away for this long,
 * the unacknowledged lines are sent without it.
 */
const CHAT_WAIT_MS = 3_000;

const BACKOFF: Backoff = { firstMs: 500, maxMs: 15_000 };

/** The part of the WebSocket interface that is used. */
export interface Transport {
  send(text: string): void;
  close(): void;
}

/** The events of a transport. No event follows `onClose`. */
export interface TransportEvents {
  readonly onOpen: () => void;
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}

/** Runs a function after a delay. The returned function cancels it. */
export type Later = (ms: number, run: () => void) => () => void;

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
}

/**
 * `connecting` for the first time, `live`, `reconnecting` after a loss, or `ended`. An ended
 * connection does not reconnect.
 */
export type SocketState =
  | { readonly is: 'connecting' | 'live' | 'reconnecting' }
  | { readonly is: 'ended'; readonly why: 'replaced' | 'kicked' | 'left' }
  | { readonly is: 'ended'; readonly why: 'refused'; readonly error: ApiError };

interface UnsentLine {
  readonly id: string;
  readonly text: string;
  sends: number;
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
  #lines: UnsentLine[] = [];
  #chatSeen = false;
  #cancelRetry = () => {};
  #cancelPing = () => {};
  #cancelSilence = () => {};
  #cancelChatWait = () => {};

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
    return true;
  }

  /**
   * Sends a chat line now or after the next `welcome`. A line without an acknowledgement is sent
   * once more.
   */
  say(id: string, text: string): void {
    this.#lines.push({ id, text, sends: 0 });
    if (this.#lines.length > UNSENT_LINES_MAX) this.#lines.shift();
    if (this.#live) this.#sendLines((line) => line.sends === 0);
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

  /** Sends `leave` and ends the connection for good. */
  leave(): void {
    this.send({ action: 'leave' });
    this.#end({ is: 'ended', why: 'left' });
  }

  /** Ends the connection for good without `leave`: the player keeps the seat. */
  close(): void {
    this.#end({ is: 'ended', why: 'left' });
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
    this.#expectAnswer();
    this.#transport = this.#options.open(ticket, {
      onOpen: () => {
        if (current()) this.#transport?.send(JSON.stringify({ action: 'hello', protocol: PROTOCOL_VERSION }));
      },
      onText: (text) => {
        if (current()) this.#receive(text);
      },
      onClose: () => {
        if (current()) this.#lost();
      },
    });
  }

  #receive(text: string): void {
    this.#cancelSilence();
    const message = parseMessage(text);
    if (message === null) return;
    this.#acknowledge(message);
    if (message.type === 'welcome') {
      this.#live = true;
      this.#failures = 0;
      this.#schedulePing();
      this.#options.onState({ is: 'live' });
      if (this.#chatSeen) this.#sendLines(() => true);
      else this.#cancelChatWait = this.#options.later(CHAT_WAIT_MS, () => this.#sendLines(() => true));
    }
    if (message.type === 'replaced' || message.type === 'kicked') {
      this.#end({ is: 'ended', why: message.type });
    }
    this.#options.onMessage(message);
    // A refused `hello`, for example from a throttled database, is tried again in a new connection.
    if (message.type === 'error' && message.action === 'hello') return this.#lost();
    if (message.type === 'chat' && !this.#chatSeen) {
      this.#chatSeen = true;
      this.#cancelChatWait();
      if (this.#live) this.#sendLines(() => true);
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
    if (ids.length > 0) this.#lines = this.#lines.filter((line) => !ids.includes(line.id));
  }

  #sendLines(which: (line: UnsentLine) => boolean): void {
    this.#lines = this.#lines.filter((line) => line.sends < LINE_SENDS_MAX);
    for (const line of this.#lines.filter(which)) {
      line.sends += 1;
      this.send({ action: 'say', id: line.id, text: line.text });
    }
  }

  #schedulePing(): void {
    this.#cancelPing();
    this.#cancelPing = this.#options.later(PING_MS, () => this.#ping());
  }

  #ping(): void {
    this.send({ action: 'ping' });
    this.#expectAnswer();
    this.#schedulePing();
  }

  #expectAnswer(): void {
    this.#cancelSilence();
    this.#cancelSilence = this.#options.later(SILENCE_MAX_MS, () => this.#lost());
  }

  #lost(): void {
    this.#drop();
    this.#failures += 1;
    this.#options.onState({ is: 'reconnecting' });
    const pauseMs = backoffMs(BACKOFF, this.#failures, this.#options.random());
    this.#cancelRetry();
    this.#cancelRetry = this.#options.later(pauseMs, () => void this.#connect());
  }

  #end(state: SocketState): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#drop();
    this.#cancelRetry();
    this.#options.onState(state);
  }

  #drop(): void {
    this.#attempt += 1;
    this.#live = false;
    this.#chatSeen = false;
    for (const cancel of [this.#cancelPing, this.#cancelSilence, this.#cancelChatWait]) cancel();
    const transport = this.#transport;
    this.#transport = undefined;
    transport?.close();
  }
}
