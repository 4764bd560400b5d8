/**
 * The list of public games that wait for players. A module of its own, so that the start page does
 * not load the rest of the game.
 */
import { requestJson } from '../shared/api.ts';
import { count, object, page, text } from '../shared/decode.ts';

/** A public game that waits for players. */
export interface WaitingGame {
  readonly gameId: string;
  readonly hostName: string;
  readonly players: number;
  readonly seats: number;
  readonly roundCount: number;
  readonly timeLimit: number;
  /** The language of the words, as a BCP 47 code. */
  readonly language: string;
}

/** `GET /games`: newest first. */
export async function getWaitingGames(signal: AbortSignal): Promise<readonly WaitingGame[]> {
  const body = await requestJson('/games?limit=20', { signal });
  return page(body, (item) => {
    const settings = object(item, 'settings');
    return {
      gameId: text(item, 'gameId'),
      hostName: text(item, 'hostName'),
      players: count(item, 'players'),
      seats: count(settings, 'playerCount'),
      roundCount: count(settings, 'roundCount'),
      timeLimit: count(settings, 'timeLimit'),
      language: text(settings, 'language'),
    };
  }).items;
}
