/**
 * The client state of one game: the room, the chat, the drawing, and the player's actions. Wraps
 * {@link GameSocket} in reactive state.
 */
import { newUuidV7 } from '../shared/uuid-v7.ts';
import { joinGame, type Seat } from './api.ts';
import { BoardSession } from './board/session.ts';
import type { BotSeat } from './bots/stored.ts';
import type { BotTable } from './bots/table.ts';
import { later, openSocket } from './browserSocket.ts';
import { addLines, knowsAnswer, type ChatLine } from './chatLog.ts';
import { isNewer, remainingMs } from './roomTime.ts';
import { GameSocket, type SocketState, type WaitingLine } from './socket.ts';
import { Ticker } from './ticker.ts';
import type { ClientMessage, ErrorMessage, Reaction, Role, Room, ServerMessage } from './protocol.ts';

/** How long the notice about a refused message stays. */
const NOTICE_MS = 6_000;
/** How long the notice that a guess was close stays. */
const NEAR_MS = 8_000;

/** The connections of left games whose servers may not know of it yet, by game. */
const leaving = new Map<string, GameSocket>();

/** A game that this browser has joined. */
export class Match {
  readonly gameId: string;
  /** The newest state. Its times count from {@link seenMs}. */
  room = $state.raw<Room>() as Room;
  /** When {@link room} arrived, by `performance.now()`. */
  seenMs = $state(0);
  playerId = $state('');
  role = $state<Role>('player');
  socket = $state.raw<SocketState>({ is: 'connecting' });
  lines = $state.raw<readonly ChatLine[]>([]);
  /** Chat lines that wait for a connection or for an acknowledgement, or have failed. */
  unsent = $state.raw<readonly WaitingLine[]>([]);
  /**
   * The last guess, if it was close. It is cleared by the next guess, by the end of the turn, or
   * after {@link NEAR_MS}.
   */
  near = $state.raw<{ readonly id: string; readonly text: string } | null>(null);
  /** A line that the server rejected as too fast. The chat puts it back into its field. */
  tooFast = $state.raw<{ readonly id: string; readonly text: string } | null>(null);
  /** The last error from the server, for {@link NOTICE_MS}. */
  refusal = $state.raw<ErrorMessage['error'] | null>(null);
  /** The reactions to the drawing of the current turn. */
  reactions = $state.raw<readonly { readonly playerId: string; readonly reaction: Reaction }[]>([]);
  /** The drawing of the current turn. */
  board = $state.raw<BoardSession | null>(null);

  readonly isPlayer = $derived(this.role === 'player');
  readonly isHost = $derived(this.isPlayer && this.room.hostId === this.playerId);
  readonly isDrawer = $derived(this.isPlayer && this.room.turn?.drawerId === this.playerId);
  /** Whether this player knows the word that others still guess. */
  readonly knowsWord = $derived(this.isPlayer && knowsAnswer(this.room, this.playerId));
  /** Whether a line that this player sends now is a guess. */
  readonly isGuessing = $derived(this.isPlayer && this.room.turn?.phase === 'drawing' && !this.knowsWord);
  readonly live = $derived(this.socket.is === 'live');

  readonly #socket: GameSocket;
  readonly #ticker: Ticker;
  #firstTicket: string | null;
  #bots: BotTable | null = null;
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
    leaving.get(seat.gameId)?.abandon();
    leaving.delete(seat.gameId);
    this.#socket = new GameSocket({
      ticket: () => this.#ticket(name),
      open: openSocket,
      later,
      random: Math.random,
      onMessage: (message) => this.#receive(message),
      onState: (state) => {
        this.socket = state;
        if (state.is !== 'live') this.#chatCaughtUp = false;
      },
      onUnsent: (lines) => (this.unsent = lines),
    });
    this.#ticker = new Ticker(later, (version) => this.send({ action: 'tick', version }));
    this.#socket.start();
  }

  /** Lets bots play too. They stay as long as this player. */
  async invite(seats: readonly BotSeat[]): Promise<void> {
    const { BotTable } = await import('./bots/table.ts');
    if (this.socket.is === 'ended') return;
    this.#bots = new BotTable(this.gameId, seats, this.playerId, () => void this.send({ action: 'start' }));
  }

  /** Sends a message. `false` when there is no connection. */
  send(message: ClientMessage): boolean {
    return this.#socket.send(message);
  }

  /** Sends a chat line now, or after the next reconnect. */
  say(text: string): void {
    this.#seeNear(null);
    this.#said = { id: newUuidV7(Date.now()), text };
    this.#socket.say(this.#said.id, text);
  }

  /** Tells the others what this player thinks of the drawing. */
  react(reaction: Reaction): void {
    const turnId = this.room.turn?.turnId;
    if (turnId === undefined || !this.send({ action: 'react', turnId, reaction })) return;
    this.#addReaction(this.playerId, reaction);
  }

  /** A reaction counts once for each player. */
  #addReaction(playerId: string, reaction: Reaction): void {
    const isKnown = this.reactions.some((given) => given.playerId === playerId && given.reaction === reaction);
    if (!isKnown) this.reactions = [...this.reactions, { playerId, reaction }];
  }

  /** Sends a failed line again. */
  sayAgain(id: string): void {
    this.#socket.sayAgain(id);
  }

  /** Forgets a failed line. */
  discardLine(id: string): void {
    this.#socket.discard(id);
  }

  /** Called when the network is back or the page is visible again. */
  wake(): void {
    this.#socket.wake();
    this.#bots?.wake();
  }

  /** Called when the network is lost. */
  interrupt(): void {
    this.#socket.interrupt();
    this.#bots?.interrupt();
  }

  /** Leaves the game and gives up the seat. Who joins again before the server knows keeps it. */
  leave(): void {
    this.#socket.leave();
    leaving.set(this.gameId, this.#socket);
    this.#bots?.leave();
    this.#stop();
  }

  /** Disconnects without leaving: the player keeps the seat. */
  close(): void {
    // Saves the last strokes.
    this.board?.finish();
    this.#socket.close();
    this.#stop();
  }

  /** The time left in the phase, in milliseconds. */
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
        // The first `chat` message of a connection is history. It does not tell who could read a
        // line when it was sent.
        this.lines = addLines(this.lines, message.lines, this.#chatCaughtUp && this.knowsWord ? this.room : null);
        this.#chatCaughtUp = true;
        break;
      case 'reaction':
        if (message.turnId === this.room.turn?.turnId) this.#addReaction(message.playerId, message.reaction);
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
        this.#bots?.follow(message.gameId);
        break;
      case 'error':
        if (!isSilent(message)) this.#refuse(message.error);
        if (message.error.type.endsWith(':too-fast') && message.id === this.#said?.id) this.tooFast = this.#said;
        break;
      case 'pong':
        break;
      case 'replaced':
      case 'kicked':
        this.#stop();
        break;
    }
  }

  /**
   * `arriving`: the room came with a `welcome`. Then the caller tells the board about the new
   * connection.
   */
  #see(room: Room, arriving = false): void {
    if (!isNewer(room, this.room)) return;
    if (room.turn?.turnId !== this.room.turn?.turnId) this.reactions = [];
    if (room.turn?.turnId !== this.room.turn?.turnId || room.turn?.phase !== 'drawing') this.#seeNear(null);
    this.room = room;
    this.seenMs = performance.now();
    this.#ticker.see(room, this.playerId);
    this.#followDrawing(arriving);
  }

  /** A board exists from the moment that a word is chosen until the next turn begins. */
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
    this.#bots?.close();
    this.#ticker.stop();
    this.#forgetRefusal();
    this.#forgetNear();
    this.board?.dispose();
  }
}

/**
 * Errors of messages that the page sends by itself are not shown to the player, except `slow-down`.
 */
function isSilent({ action, error }: ErrorMessage): boolean {
  const byItself = ['react', 'draw', 'save', 'catch-up', 'tick', 'ping'];
  return action !== null && byItself.includes(action) && !error.type.endsWith(':slow-down');
}
