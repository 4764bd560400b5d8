/** One game as this browser sees it: the room, the chat, the drawing, and what can be done. Reactive state over {@link GameSocket}. */
import { newUuidV7 } from '../shared/uuid-v7.ts';
import { joinGame, socketUrl, type Seat } from './api.ts';
import { BoardSession } from './board/session.ts';
import { addLines, knowsAnswer, type ChatLine } from './chatLog.ts';
import { isNewer, remainingMs } from './roomTime.ts';
import {
  GameSocket,
  UNSENT_LINES_MAX,
  type Later,
  type SocketState,
  type Transport,
  type TransportEvents,
} from './socket.ts';
import { Ticker } from './ticker.ts';
import type { ClientMessage, ErrorMessage, Role, Room, ServerMessage } from './protocol.ts';

/** How long a notice about something that was refused stays. */
const NOTICE_MS = 6_000;
/** How long a guess is called close. */
const NEAR_MS = 8_000;

const later: Later = (ms, run) => {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
};

/** A game that was entered. */
export class Match {
  readonly gameId: string;
  /** The newest state; its times count from {@link seenMs}. */
  room = $state.raw<Room>() as Room;
  /** When the room was read, by `performance.now()`. */
  seenMs = $state(0);
  playerId = $state('');
  role = $state<Role>('player');
  socket = $state.raw<SocketState>({ is: 'connecting' });
  lines = $state.raw<readonly ChatLine[]>([]);
  /** Lines that wait for a connection. */
  unsent = $state.raw<readonly string[]>([]);
  /** The last guess, if it was close: until the next one, the turn's end, or some seconds. */
  near = $state.raw<{ readonly id: string; readonly text: string } | null>(null);
  /** A line that came too fast, for the field to show it again. */
  tooFast = $state.raw<string | null>(null);
  /** What the server refused a moment ago. */
  refusal = $state.raw<ErrorMessage['error'] | null>(null);
  /** The drawing of the turn that is on. */
  board = $state.raw<BoardSession | null>(null);

  readonly isPlayer = $derived(this.role === 'player');
  readonly isHost = $derived(this.isPlayer && this.room.hostId === this.playerId);
  readonly isDrawer = $derived(this.isPlayer && this.room.turn?.drawerId === this.playerId);
  /** This player knows a word that others still guess. */
  readonly isInTheKnow = $derived(this.isPlayer && knowsAnswer(this.room, this.playerId));
  /** What this player says now is a guess. */
  readonly isGuessing = $derived(this.isPlayer && this.room.turn?.phase === 'drawing' && !this.isInTheKnow);
  readonly live = $derived(this.socket.is === 'live');

  readonly #socket: GameSocket;
  readonly #ticker: Ticker;
  #firstTicket: string | null;
  #chatCaughtUp = false;
  #said: { readonly id: string; readonly text: string } | null = null;
  #forgetRefusal = () => {};
  #forgetNear = () => {};

  constructor(seat: Seat, playerId: string, name: string) {
    this.gameId = seat.gameId;
    this.room = seat.room;
    this.seenMs = performance.now();
    this.playerId = playerId;
    this.role = seat.role;
    this.#firstTicket = seat.ticket;
    this.#socket = new GameSocket({
      ticket: () => this.#ticket(name),
      open: openSocket,
      later,
      random: Math.random,
      onMessage: (message) => this.#receive(message),
      onState: (state) => {
        this.socket = state;
        if (state.is === 'live') this.unsent = [];
        else this.#chatCaughtUp = false;
      },
    });
    this.#ticker = new Ticker(later, (version) => this.send({ action: 'tick', version }));
    this.#socket.start();
  }

  /** `false`: there is no connection now. */
  send(message: ClientMessage): boolean {
    return this.#socket.send(message);
  }

  /** Says a line, now or when there is a connection again. */
  say(text: string): void {
    this.#seeNear(null);
    if (!this.live) this.unsent = [...this.unsent, text].slice(-UNSENT_LINES_MAX);
    this.#said = { id: newUuidV7(Date.now()), text };
    this.#socket.say(this.#said.id, text);
  }

  /** The network is back, or the page is looked at again. */
  wake(): void {
    this.#socket.wake();
  }

  /** Gives the seat up. */
  leave(): void {
    this.#socket.leave();
    this.#stop();
  }

  /** The page turns to something else; the seat stays. */
  close(): void {
    this.#socket.close();
    this.#stop();
  }

  /** What is left of the phase now, in milliseconds. */
  remainingMs(): number {
    return remainingMs(this.room, performance.now() - this.seenMs);
  }

  async #ticket(name: string): Promise<string> {
    const first = this.#firstTicket;
    this.#firstTicket = null;
    return first ?? (await joinGame(this.gameId, name, this.role)).ticket;
  }

  #receive(message: ServerMessage): void {
    switch (message.type) {
      case 'welcome':
        this.playerId = message.you.playerId;
        this.role = message.you.role;
        this.#see(message.room, true);
        this.board?.connected();
        break;
      case 'room':
        this.#see(message.room);
        break;
      case 'chat':
        // What comes first is history: who could read it when it was said is not known any more.
        this.lines = addLines(this.lines, message.lines, this.#chatCaughtUp && this.isInTheKnow ? this.room : null);
        this.#chatCaughtUp = true;
        break;
      case 'near':
        this.#seeNear(message);
        break;
      case 'ink':
        this.board?.receive(message);
        break;
      case 'wait':
        this.#ticker.wait(message.version, message.nextMs);
        break;
      case 'rematch':
        this.room = { ...this.room, rematch: message.gameId };
        break;
      case 'error':
        if (!isSilent(message)) this.#refuse(message.error);
        if (message.error.type.endsWith(':too-fast') && message.id === this.#said?.id) this.tooFast = this.#said.text;
        break;
      case 'pong':
        break;
      case 'replaced':
      case 'kicked':
        this.#stop();
        break;
    }
  }

  /** `arriving`: with the `welcome` of a connection, which the board is told of by who calls. */
  #see(room: Room, arriving = false): void {
    if (!isNewer(room, this.room)) return;
    if (room.turn?.turnId !== this.room.turn?.turnId || room.turn?.phase !== 'drawing') this.#seeNear(null);
    this.room = room;
    this.seenMs = performance.now();
    this.#ticker.see(room, this.playerId);
    this.#followDrawing(arriving);
  }

  /** There is a board from the moment a turn's word is chosen until the next turn begins. */
  #followDrawing(arriving: boolean): void {
    const turn = this.room.turn;
    if (turn === null || turn.phase === 'choosing') {
      this.board?.dispose();
      this.board = null;
      return;
    }
    if (this.board?.turnId !== turn.turnId) {
      this.board?.dispose();
      this.board = new BoardSession({
        turnId: turn.turnId,
        isDrawer: this.isDrawer,
        keepAs: `tidemark.game.ink.${this.gameId}.${this.playerId}`,
        send: (message) => void this.send(message),
      });
      if (this.live && !arriving) this.board.connected();
    }
    if (turn.phase === 'reveal') this.board.finish();
  }

  #seeNear(near: typeof this.near): void {
    this.near = near;
    this.#forgetNear();
    this.#forgetNear = near === null ? () => {} : later(NEAR_MS, () => (this.near = null));
  }

  #refuse(error: ErrorMessage['error']): void {
    this.refusal = error;
    this.#forgetRefusal();
    this.#forgetRefusal = later(NOTICE_MS, () => (this.refusal = null));
  }

  #stop(): void {
    this.#ticker.stop();
    this.#forgetRefusal();
    this.#forgetNear();
    this.board?.dispose();
  }
}

/** What the page says by itself is not the player's matter when it comes too late; only a flood is told. */
function isSilent({ action, error }: ErrorMessage): boolean {
  const byItself = ['draw', 'save', 'catch-up', 'tick', 'ping'];
  return action !== null && byItself.includes(action) && !error.type.endsWith(':slow-down');
}

function openSocket(ticket: string, events: TransportEvents): Transport {
  const socket = new WebSocket(socketUrl(ticket));
  socket.addEventListener('open', events.onOpen);
  socket.addEventListener('message', (event: MessageEvent<unknown>) => {
    if (typeof event.data === 'string') events.onText(event.data);
  });
  socket.addEventListener('close', events.onClose);
  return socket;
}
