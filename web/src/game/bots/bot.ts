/**
 * A bot: a player that this page plays over a connection of its own. It knows only what the server
 * tells this player, so it guesses from the list of words by the letters of the hint.
 */
import { newUuidV7 } from '../../shared/uuid-v7.ts';
import type { ClientMessage, Room, ServerMessage, Turn, WordLanguage } from '../protocol.ts';
import { isNewer } from '../roomTime.ts';
import { GameSocket, type SocketOptions } from '../socket.ts';
import type { Later } from '../transport.ts';
import { isLetter, toAnswer } from '../text.ts';
import { DRAWINGS, type Drawing } from './drawings.ts';
import { Pen } from './pen.ts';

type Task = 'ready' | 'start' | 'choose' | 'draw' | 'guess';

/** The least and the longest pause, in ms. */
type Pause = readonly [least: number, most: number];

/** Before a task that had no effect is done again. */
const AGAIN: Pause = [3_000, 4_000];
/** Before a task: the first time, and each other time. */
const PAUSES: Readonly<Record<Task, readonly [first: Pause, next: Pause]>> = {
  ready: [[400, 1_500], AGAIN],
  start: [[1_000, 2_000], AGAIN],
  choose: [[2_000, 4_500], AGAIN],
  draw: [[600, 1_500], AGAIN],
  guess: [
    [12_000, 26_000],
    [9_000, 18_000],
  ],
};

export interface BotOptions extends Pick<SocketOptions, 'ticket' | 'open' | 'later' | 'random'> {
  /** The built-in words of a language. */
  readonly words: (language: WordLanguage) => readonly string[];
  /** The answers of the finished turns. The bots of a page share it, and draw nothing twice. */
  readonly over: Set<string>;
  readonly onRoom: (room: Room) => void;
}

export class Bot {
  readonly #options: BotOptions;
  readonly #socket: GameSocket;
  readonly #later: Later;
  #id = '';
  #room: Room | null = null;
  /** The current task and its turn. */
  #plan = '';
  #cancel = () => {};
  /** The wrong guesses that everybody has read in this turn. */
  #said: { turnId: string | undefined; words: Set<string> } = { turnId: undefined, words: new Set() };
  /** The turn that this bot has seen from its choice on. It does not continue a drawing. */
  #chosen = '';
  #pen: Pen | null = null;

  constructor(options: BotOptions) {
    this.#options = options;
    this.#later = options.later;
    this.#socket = new GameSocket({
      ...options,
      onMessage: (message) => this.#receive(message),
      onState: (state) => {
        if (state.is === 'ended') this.#stop();
      },
      onUnsent: () => {},
    });
    this.#socket.start();
  }

  get playerId(): string {
    return this.#id;
  }

  wake(): void {
    this.#socket.wake();
  }

  interrupt(): void {
    this.#socket.interrupt();
  }

  /** Gives up the seat. */
  leave(): void {
    this.#socket.leave();
  }

  /** Disconnects, and keeps the seat. */
  close(): void {
    this.#pen?.finish();
    this.#socket.close();
  }

  #stop(): void {
    this.#cancel();
    this.#pen?.dispose();
  }

  #receive(message: ServerMessage): void {
    if (message.type === 'welcome') this.#id = message.you.playerId;
    if (message.type === 'welcome' || message.type === 'room') this.#see(message.room);
    if (message.type !== 'chat' || this.#room === null) return;
    const { language } = this.#room.settings;
    for (const { kind, text } of message.lines) {
      if (kind === 'guess') this.#said.words.add(toAnswer(text, language).toLowerCase());
    }
  }

  #see(room: Room): void {
    if (this.#room !== null && !isNewer(room, this.#room)) return;
    this.#room = room;
    this.#options.onRoom(room);
    const { turn } = room;
    if (turn?.turnId !== this.#said.turnId) this.#said = { turnId: turn?.turnId, words: new Set() };
    if (turn?.phase === 'reveal' && turn.answer !== null) this.#options.over.add(turn.answer);
    if (turn?.phase === 'choosing') this.#chosen = turn.turnId;
    if (turn?.phase !== 'drawing') this.#pen?.finish();
    const task = taskIn(room, this.#id);
    const plan = `${task} ${turn?.turnId}`;
    if (plan === this.#plan) return;
    this.#plan = plan;
    this.#cancel();
    if (task !== null) this.#schedule(task, 0);
  }

  #schedule(task: Task, time: 0 | 1): void {
    const [least, most] = PAUSES[task][time];
    this.#cancel = this.#later(least + this.#options.random() * (most - least), () => {
      const message = this.#room && this.#act(task, this.#room);
      if (message?.action === 'say') this.#socket.say(message.id, message.text);
      else if (message) this.#socket.send(message);
      this.#schedule(task, 1);
    });
  }

  #act(task: Task, { turn, settings }: Room): ClientMessage | null {
    if (task === 'ready') return { action: 'ready', ready: true };
    if (task === 'start') return { action: 'start' };
    if (turn === null) return null;
    switch (task) {
      case 'choose':
        return this.#choose(turn, settings.language);
      case 'draw':
        return this.#draw(turn, settings.language);
      case 'guess': {
        const word = this.#pick(this.#fitting(turn, settings.language));
        return word === undefined ? null : { action: 'say', id: newUuidV7(Date.now()), text: word };
      }
    }
  }

  /** Takes an offered word that it can draw. Otherwise it types one, as every player may. */
  #choose({ turnId, options }: Turn, language: WordLanguage): ClientMessage {
    const isFresh = (word: string): boolean => !this.#options.over.has(word);
    const option = options.findIndex(({ word }) => drawingOf(word, language) !== undefined && isFresh(word));
    if (option !== -1) return { action: 'choose', turnId, option };
    const word = this.#pick(DRAWINGS.map((drawing) => drawing.word[language]).filter(isFresh));
    return word === undefined ? { action: 'choose', turnId, option: 0 } : { action: 'choose', turnId, word };
  }

  /** Draws the word, or skips the turn if the time of the choice was over before it had chosen. */
  #draw({ turnId, answer }: Turn, language: WordLanguage): ClientMessage | null {
    if (this.#pen?.turnId === turnId || this.#chosen !== turnId) return null;
    const drawing = drawingOf(answer ?? '', language);
    if (drawing === undefined) return { action: 'skip', turnId };
    this.#pen?.dispose();
    this.#pen = new Pen(turnId, drawing, (message) => void this.#socket.send(message), this.#later);
    return null;
  }

  #fitting({ mask }: Turn, language: WordLanguage): string[] {
    const { over, words } = this.#options;
    return words(language).filter(
      (word) => fits(word, mask ?? '') && !this.#said.words.has(word.toLowerCase()) && !over.has(word),
    );
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#options.random() * items.length)];
  }
}

/** What this player has to do in a room. */
function taskIn({ status, paused, hostId, players, turn }: Room, playerId: string): Task | null {
  if (paused) return null;
  if (status === 'waiting') {
    const here = players.filter((player) => player.connected);
    if (hostId !== playerId)
      return here.some((player) => player.playerId === playerId && !player.ready) ? 'ready' : null;
    // The host was away for so long that this bot has become the host.
    return here.length > 1 && here.every((player) => player.ready || player.playerId === hostId) ? 'start' : null;
  }
  if (turn === null || turn.phase === 'reveal') return null;
  if (turn.drawerId === playerId) return turn.phase === 'choosing' ? 'choose' : 'draw';
  return turn.phase === 'choosing' || turn.solvers.some((solver) => solver.playerId === playerId) ? null : 'guess';
}

function drawingOf(word: string, language: WordLanguage): Drawing | undefined {
  return DRAWINGS.find((drawing) => drawing.word[language] === word);
}

/** Whether a word has the length and the open letters of a mask. */
export function fits(word: string, mask: string): boolean {
  const [letters, places] = [[...word], [...mask]];
  return (
    letters.length === places.length &&
    places.every((place, index) => place === letters[index] || (place === '＿' && isLetter(letters[index] ?? '')))
  );
}
