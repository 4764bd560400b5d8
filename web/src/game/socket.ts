/**
 * The connection to a game: kept up over lost networks, API Gateway's two hours and sleeping laptops.
 *
 * Every connection needs a fresh ticket. It is in use once the server has said `welcome`; until then nothing but `hello` is sent.
 */
import { asApiError, type ApiError } from '../shared/api.ts';
import { backoffMs, type Backoff } from '../shared/backoff.ts';
import { parseMessage, PROTOCOL_VERSION, type ClientMessage, type ServerMessage } from './protocol.ts';

/** API Gateway ends a connection after 10 minutes without a message. */
export const PING_MS = 4 * 60_000;
/** A server that says nothing for so long after a `hello` or `ping` is taken for gone. */
export const SILENCE_MAX_MS = 10_000;
/** Lines that wait for a connection, or for the server's word that they arrived; with more, the oldest is given up. */
export const UNSENT_LINES_MAX = 20;
/** A line is sent once more after a reconnect, never a third time. */
const LINE_SENDS_MAX = 2;
/** After `welcome`, the chat so far tells which lines had arrived. It may be lost; then the rest is sent without it. */
const CHAT_WAIT_MS = 3_000;

const BACKOFF: Backoff = { firstMs: 500, maxMs: 15_000 };

/** The part of a WebSocket that is used. */
export interface Transport {
  send(text: string): void;
  close(): void;
}

/** What a transport reports. Nothing comes after `onClose`. */
export interface TransportEvents {
  readonly onOpen: () => void;
  readonly onText: (text: string) => void;
  readonly onClose: () => void;
}

/** Runs something later; the function that is returned forgets it. */
export type Later = (ms: number, run: () => void) => () => void;

/** What the socket needs from the world. */
export interface SocketWorld {
  /** A new ticket for this game; fails with {@link ApiError}. */
  readonly ticket: () => Promise<string>;
  readonly open: (ticket: string, events: TransportEvents) => Transport;
  readonly later: Later;
  /** 0..1 */
  readonly random: () => number;
  readonly onMessage: (message: ServerMessage) => void;
  readonly onState: (state: SocketState) => void;
}

/** `connecting` for the first time, `live`, `reconnecting` after a loss, or `ended`: it will not come back by itself. */
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
  readonly #world: SocketWorld;
  #transport: Transport | undefined;
  /** Grows with every attempt, so that what an abandoned one reports is recognised. */
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

  constructor(world: SocketWorld) {
    this.#world = world;
  }

  /** Connects, and from then on keeps connected. */
  start(): void {
    this.#world.onState({ is: 'connecting' });
    void this.#connect();
  }

  /** Sends what makes sense only now. `false`: there is no connection, and it was not kept. */
  send(message: ClientMessage): boolean {
    if (!this.#live) return false;
    this.#transport?.send(JSON.stringify(message));
    return true;
  }

  /** Says a line now or as soon as there is a connection. A line is repeated once if its arrival stays unknown. */
  say(id: string, text: string): void {
    this.#lines.push({ id, text, sends: 0 });
    if (this.#lines.length > UNSENT_LINES_MAX) this.#lines.shift();
    if (this.#live) this.#sendLines((line) => line.sends === 0);
  }

  /** The network is back, or the page is looked at again: find out now whether the connection still holds. */
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

  /** Says goodbye and ends for good. */
  leave(): void {
    this.send({ action: 'leave' });
    this.#end({ is: 'ended', why: 'left' });
  }

  /** Ends for good without a word: the seat stays. */
  close(): void {
    this.#end({ is: 'ended', why: 'left' });
  }

  async #connect(): Promise<void> {
    const attempt = ++this.#attempt;
    const current = () => attempt === this.#attempt && !this.#ended;
    let ticket: string;
    try {
      ticket = await this.#world.ticket();
    } catch (failure) {
      if (!current()) return;
      const error = asApiError(failure);
      if (error.isTransient) this.#lost();
      else this.#end({ is: 'ended', why: 'refused', error });
      return;
    }
    if (!current()) return;
    this.#expectAnswer();
    this.#transport = this.#world.open(ticket, {
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
      this.#world.onState({ is: 'live' });
      if (this.#chatSeen) this.#sendLines(() => true);
      else this.#cancelChatWait = this.#world.later(CHAT_WAIT_MS, () => this.#sendLines(() => true));
    }
    if (message.type === 'replaced' || message.type === 'kicked') {
      this.#end({ is: 'ended', why: message.type });
    }
    this.#world.onMessage(message);
    // A hello that was refused, as by a database that asks for patience, is said again in a new connection.
    if (message.type === 'error' && message.action === 'hello') return this.#lost();
    if (message.type === 'chat' && !this.#chatSeen) {
      this.#chatSeen = true;
      this.#cancelChatWait();
      if (this.#live) this.#sendLines(() => true);
    }
  }

  /** The server has spoken of these lines: they have arrived. */
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
    this.#cancelPing = this.#world.later(PING_MS, () => this.#ping());
  }

  #ping(): void {
    this.send({ action: 'ping' });
    this.#expectAnswer();
    this.#schedulePing();
  }

  #expectAnswer(): void {
    this.#cancelSilence();
    this.#cancelSilence = this.#world.later(SILENCE_MAX_MS, () => this.#lost());
  }

  #lost(): void {
    this.#drop();
    this.#failures += 1;
    this.#world.onState({ is: 'reconnecting' });
    const pauseMs = backoffMs(BACKOFF, this.#failures, this.#world.random());
    this.#cancelRetry();
    this.#cancelRetry = this.#world.later(pauseMs, () => void this.#connect());
  }

  #end(state: SocketState): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#drop();
    this.#cancelRetry();
    this.#world.onState(state);
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
