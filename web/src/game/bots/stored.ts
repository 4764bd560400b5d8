/** The bots of this tab's game, so that a reload or a rematch continues with them. */
import { isObject } from '../../shared/api.ts';
import { StoredText } from '../../shared/storage.ts';
import type { Identity } from '../identity.ts';

/** A bot's name, and its player once it has taken a seat. */
export interface BotSeat {
  readonly name: string;
  identity: Identity | null;
}

const storedBots = new StoredText('sessionStorage', 'tidemark.game.bots');
const storedWish = new StoredText('sessionStorage', 'tidemark.game.wish');

/** The bots of a game. `null` when it has none of this tab. */
export function recallBots(gameId: string): readonly BotSeat[] | null {
  let stored: unknown = null;
  try {
    stored = JSON.parse(storedBots.read() ?? 'null');
  } catch {
    // Another version of the page wrote it.
  }
  if (!isObject(stored) || stored['gameId'] !== gameId || !Array.isArray(stored['seats'])) return null;
  return stored['seats'].filter(isObject).map(({ name, identity }) => {
    const known = isObject(identity) ? identity : {};
    const [playerId, token] = [known['playerId'], known['token']];
    const isKnown = typeof playerId === 'string' && typeof token === 'string';
    return { name: String(name), identity: isKnown ? { playerId, token } : null };
  });
}

export function rememberBots(gameId: string, seats: readonly BotSeat[]): void {
  storedBots.write(JSON.stringify({ gameId, seats }));
}

/** The start page leaves a note for the game's page. A link would let crawlers create games. */
export function wishForBots(): void {
  storedWish.write('yes');
}

/** Whether there is such a note. Removes it. */
export function takeWish(): boolean {
  const isThere = storedWish.read() !== null;
  storedWish.write(null);
  return isThere;
}
