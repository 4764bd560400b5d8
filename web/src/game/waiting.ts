/**
 * The list of public games that wait for players. A module of its own, so that the start page does
 * not load the rest of the game.
 */
import { requestPage, type Item } from '../shared/api.ts';

/** A public game that waits for players. */
export type WaitingGame = Item<'WaitingGames'>;

/** `GET /games`: newest first. */
export async function getWaitingGames(signal: AbortSignal): Promise<readonly WaitingGame[]> {
  return (await requestPage<WaitingGame>('/games?limit=20', { signal })).items;
}
