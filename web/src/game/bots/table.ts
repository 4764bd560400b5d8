/** The bots of a game that this page has created. They stay as long as its player. */
import built_in_de from '../../../../crates/domain/src/game/words_de.txt?raw';
import built_in_en from '../../../../crates/domain/src/game/words_en.txt?raw';
import built_in_es from '../../../../crates/domain/src/game/words_es.txt?raw';
import built_in_fr from '../../../../crates/domain/src/game/words_fr.txt?raw';
import built_in_ja from '../../../../crates/domain/src/game/words_ja.txt?raw';
import built_in_pt from '../../../../crates/domain/src/game/words_pt.txt?raw';
import { joinGame } from '../api.ts';
import { later, openSocket } from '../browserSocket.ts';
import type { Room, WordLanguage } from '../protocol.ts';
import { Bot } from './bot.ts';
import { rememberBots, type BotSeat } from './stored.ts';
import { wordsOf } from './wordList.ts';

const WORDS: Record<WordLanguage, readonly string[]> = {
  ja: wordsOf(built_in_ja, 'ja'),
  en: wordsOf(built_in_en, 'en'),
  de: wordsOf(built_in_de, 'de'),
  fr: wordsOf(built_in_fr, 'fr'),
  es: wordsOf(built_in_es, 'es'),
  pt: wordsOf(built_in_pt, 'pt'),
};

export class BotTable {
  readonly #seats: readonly BotSeat[];
  readonly #bots: readonly Bot[];
  readonly #start: () => void;
  #startedAt = -1;

  /** `start` starts the game for the player of this page, when all others are bots and ready. */
  constructor(gameId: string, seats: readonly BotSeat[], playerId: string, start: () => void) {
    this.#seats = seats;
    this.#start = start;
    const over = new Set<string>();
    this.#bots = seats.map(
      (seat) =>
        new Bot({
          ticket: async () => {
            const identity = {
              recall: () => seat.identity,
              remember: (known: typeof seat.identity) => (seat.identity = known),
            };
            const { ticket } = await joinGame(gameId, seat.name, 'player', identity);
            rememberBots(gameId, seats);
            return ticket;
          },
          open: openSocket,
          later,
          random: Math.random,
          words: (language) => WORDS[language],
          over,
          onRoom: (room) => this.#see(room, playerId),
        }),
    );
  }

  wake(): void {
    for (const bot of this.#bots) bot.wake();
  }

  interrupt(): void {
    for (const bot of this.#bots) bot.interrupt();
  }

  leave(): void {
    for (const bot of this.#bots) bot.leave();
  }

  close(): void {
    for (const bot of this.#bots) bot.close();
  }

  /** The bots come to this game too, once the player joins it. */
  follow(gameId: string): void {
    rememberBots(gameId, this.#seats);
  }

  #see(room: Room, playerId: string): void {
    if (room.status !== 'waiting' || room.hostId !== playerId || room.version === this.#startedAt) return;
    const here = room.players.filter((player) => player.connected);
    const others = here.filter((player) => player.playerId !== playerId);
    const areBots = this.#bots.every((bot) => others.some(({ playerId, ready }) => playerId === bot.playerId && ready));
    if (!areBots || others.length !== this.#bots.length || here.length === others.length) return;
    this.#startedAt = room.version;
    this.#start();
  }
}
