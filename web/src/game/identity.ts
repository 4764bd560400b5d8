/**
 * This browser's player: its id and token, the name that was used last, and the game that was
 * joined last.
 */
import { StoredText } from '../shared/storage.ts';

const storedName = new StoredText('localStorage', 'tidemark.game.name');
const storedToken = new StoredText('localStorage', 'tidemark.game.token');
const storedId = new StoredText('localStorage', 'tidemark.game.player');
const storedGame = new StoredText('localStorage', 'tidemark.game.last');

/** The player's id and the token that proves it to the server. */
export interface Identity {
  readonly playerId: string;
  readonly token: string;
}

/** `null` before the first game. */
export function recallIdentity(): Identity | null {
  const playerId = storedId.read();
  const token = storedToken.read();
  return playerId !== null && token !== null ? { playerId, token } : null;
}

/** `null` forgets the player, after the server has rejected the token. */
export function rememberIdentity(identity: Identity | null): void {
  storedId.write(identity?.playerId ?? null);
  storedToken.write(identity?.token ?? null);
}

/** Where a player is kept: this browser's, or a bot's. */
export interface IdentityStore {
  readonly recall: () => Identity | null;
  readonly remember: (identity: Identity | null) => void;
}

export const browserIdentity: IdentityStore = { recall: recallIdentity, remember: rememberIdentity };

/** The name that was used last. Empty before the first game. */
export function recallName(): string {
  return storedName.read() ?? '';
}

export function rememberName(name: string): void {
  storedName.write(name);
}

/** The game that this browser joined last. `null` when there is none, or the player left it. */
export function recallGame(): string | null {
  return storedGame.read();
}

export function rememberGame(gameId: string | null): void {
  storedGame.write(gameId);
}
